/** Defines the enumerations of the response views, which several of them share. */
import { oneOf, openEnum } from '../lib/json-types.js';
import { cancelStates, type CancelStatus } from '../model/cancellation.js';
import { deliveries, executionStates, type ExecutionStatus } from '../model/execution.js';
import { reasonCodes } from '../model/reason-codes.js';

export const signalState = openEnum(
  oneOf(['accepted', 'completed']),
  'Whether the signal is `completed`: every execution has a final status.',
);

export const executionStatus = openEnum(
  oneOf(Object.keys(executionStates) as ExecutionStatus[]),
  'What has become of the command at one terminal.',
);

export const cancelStatus = openEnum(
  oneOf(Object.keys(cancelStates) as CancelStatus[]),
  'What has become of the cancel of an order.',
);

export const reasonCode = openEnum(
  oneOf(reasonCodes),
  'Why an execution or a cancel has its status.',
);

export const delivery = openEnum(
  oneOf(deliveries),
  'How far the command came: tells "never sent" from "sent, outcome not known".',
);

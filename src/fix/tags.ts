/** Defines the FIX tags and message types that the terminal reads or writes, by the names of the standard. */
// oxfmt-ignore
export const tags = {
  Account: 1, AvgPx: 6, BeginSeqNo: 7, BeginString: 8, BodyLength: 9, CheckSum: 10, ClOrdID: 11, CumQty: 14,
  EndSeqNo: 16, ExecID: 17, ExecTransType: 20, HandlInst: 21, SecurityIDSource: 22, LastPx: 31, LastQty: 32,
  MsgSeqNum: 34, MsgType: 35, NewSeqNo: 36, OrderID: 37, OrderQty: 38, OrdStatus: 39, OrdType: 40,
  OrigClOrdID: 41, PossDupFlag: 43, Price: 44, RefSeqNum: 45, SecurityID: 48, SenderCompID: 49,
  SenderSubID: 50, SendingTime: 52, Side: 54, Symbol: 55, TargetCompID: 56, TargetSubID: 57, Text: 58,
  TimeInForce: 59, TransactTime: 60, RawDataLength: 95, RawData: 96, PossResend: 97, EncryptMethod: 98,
  StopPx: 99, CxlRejReason: 102, OrdRejReason: 103, HeartBtInt: 108, TestReqID: 112, OrigSendingTime: 122,
  GapFillFlag: 123, ResetSeqNumFlag: 141, ExecType: 150, LeavesQty: 151, RefTagID: 371, RefMsgType: 372,
  SessionRejectReason: 373, BusinessRejectRefID: 379, BusinessRejectReason: 380,
  Designation: 494, Username: 553, Password: 554,
} as const satisfies Record<string, number>;

export const types = {
  Heartbeat: '0',
  TestRequest: '1',
  ResendRequest: '2',
  Reject: '3',
  SequenceReset: '4',
  Logout: '5',
  ExecutionReport: '8',
  OrderCancelReject: '9',
  Logon: 'A',
  NewOrderSingle: 'D',
  OrderCancelRequest: 'F',
  OrderStatusRequest: 'H',
  BusinessMessageReject: 'j',
} as const satisfies Record<string, string>;

/** Fields of raw bytes, which may hold a delimiter, by the field that gives their length and stands before them. */
// oxfmt-ignore
export const dataFields: ReadonlyMap<number, number> = new Map([
  [90, 91], [93, 89], [95, 96], [212, 213], [348, 349], [350, 351], [352, 353], [354, 355], [356, 357],
  [358, 359], [360, 361], [362, 363], [364, 365], [445, 446], [618, 619], [621, 622],
]);

/** Standard header and trailer, and the bodies of the session's own messages. */
// oxfmt-ignore
export const sections = {
  header: [8, 9, 35, 49, 56, 115, 128, 90, 91, 34, 50, 142, 57, 143, 116, 144, 129, 145, 43, 97, 52, 122, 212, 213, 347, 369, 627, 628, 629, 630],
  body: [7, 16, 36, 45, 58, 95, 96, 98, 108, 112, 123, 141, 354, 355, 371, 372, 373, 383, 384, 385, 464, 553, 554, 789],
  trailer: [93, 89, 10],
} as const;

/** Repeating groups of the session's own messages: by the field that counts, the fields of an entry. */
export const groups: ReadonlyMap<number, readonly [first: number, ...others: number[]]> = new Map([
  [384, [372, 385]],
  [627, [628, 629, 630]],
]);

/** Header fields of a message sent on behalf of others, with the fields that send an answer back the same way. */
export const routes: ReadonlyMap<number, number> = new Map([
  [115, 128],
  [116, 129],
  [144, 145],
  [128, 115],
  [129, 116],
  [145, 144],
]);

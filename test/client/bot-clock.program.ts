/** A bot that only waits for a signal's end, and prints its status. Argument: the base URL. */
import { createBotClient } from '../../src/client/bot-client.js';

const client = createBotClient({ baseUrl: process.argv[2] ?? '', apiKey: 'svc_api_test' });
const result = await client.waitForResult('req_1', { timeoutMs: 60_000, pollMs: [20] });
console.log(result.ok ? result.value.status : result.error.message);

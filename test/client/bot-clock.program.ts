/** A bot that does nothing but wait: prints the status that it waited for. Argument: the base URL. */
import { createBotClient } from '../../src/client/bot-client.js';

const client = createBotClient({ baseUrl: process.argv[2] ?? '', apiKey: 'svc_api_test' });
const result = await client.waitForResult('req_1', { timeoutMs: 60_000, pollMs: [20] });
console.log(result.ok ? result.value.status : result.error.message);

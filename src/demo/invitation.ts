/** Formats the commands that the demo prints for use in another shell. */
import { futuresDesk } from './cast.js';

export function invitation(url: string, opsUrl: string, apiKey: string, requestId: string): string {
  const { platform, instanceId, accountName } = futuresDesk;
  return `
The gateway runs until Ctrl+C. Paste these commands into another shell:

  URL=${url} KEY=${apiKey}

  # follow the futures terminal (leave it running)
  curl -N "$URL/api/v1/terminal-events/stream?platform=${platform}&instanceId=${instanceId}&accountName=${accountName}" \\
    -H "Authorization: Bearer $KEY"

  # buy one future at the market; the Location header names the request
  curl -i $URL/api/v1/signals -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
    -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \\
    -d '{"v":1,"signalId":"mine-'$(date +%s%N)'","ts":'$(date +%s%3N)',"ttlMs":60000,"platform":"${platform}","type":"order","cmd":"submit","payload":{"instrument":"ES","side":"buy","executionType":"market","quantity":1}}'

  # read the status of the order that the bot has cancelled
  curl $URL/api/v1/signals/${requestId} -H "Authorization: Bearer $KEY"

  # list the terminals, check the gateway's health and metrics
  curl $URL/api/v1/terminal-events/sources -H "Authorization: Bearer $KEY"
  curl ${opsUrl}/readyz; curl ${opsUrl}/metrics
`;
}

/** What the demo leaves on the screen: lines that work when they are pasted into a shell. */
import { futuresDesk } from './cast.js';

export function invitation(url: string, opsUrl: string, apiKey: string, requestId: string): string {
  const { platform, instanceId, accountName } = futuresDesk;
  return `
It stays up until Ctrl+C. Paste these into another shell:

  URL=${url} KEY=${apiKey}

  # follow the futures terminal (leave it running)
  curl -N "$URL/api/v1/terminal-events/stream?platform=${platform}&instanceId=${instanceId}&accountName=${accountName}" \\
    -H "Authorization: Bearer $KEY"

  # buy one future at the market; the Location header names the request
  curl -i $URL/api/v1/signals -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
    -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \\
    -d '{"v":1,"signalId":"mine-'$(date +%s%N)'","ts":'$(date +%s%3N)',"ttlMs":60000,"platform":"${platform}","type":"order","cmd":"submit","payload":{"instrument":"ES","side":"buy","executionType":"market","quantity":1}}'

  # what became of the order that the bot has cancelled
  curl $URL/api/v1/signals/${requestId} -H "Authorization: Bearer $KEY"

  # which terminals there are, and how the gateway is
  curl $URL/api/v1/terminal-events/sources -H "Authorization: Bearer $KEY"
  curl ${opsUrl}/readyz; curl ${opsUrl}/metrics
`;
}

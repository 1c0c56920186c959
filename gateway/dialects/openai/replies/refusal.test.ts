import test from 'ava';
import { hasStarted, refuse } from './refusal.ts';

const shouldRetry = (refused: ReturnType<typeof refuse>): string | undefined =>
  refused.headers[refused.headers.indexOf('x-should-retry') + 1];

const busy = { code: 'Unavailable', status: 503, message: 'busy' } as const;

test('what is refused after its run has begun is not to be sent again, whatever it is refused for', (t) => {
  t.not(shouldRetry(refuse(busy, {})), 'false');
  t.is(shouldRetry(refuse(busy, { replyMetadata: hasStarted })), 'false');
  const limited = { code: 'RateLimited', status: 429, message: 'slower' } as const;
  t.is(shouldRetry(refuse(limited, { replyMetadata: hasStarted })), 'false');
  t.is(shouldRetry(refuse({ code: 'Timeout', status: 504, message: 'late' }, {})), 'false');
});

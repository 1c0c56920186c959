import { integer, text, type Setting, type Settings, type Values } from '@agent-workflow/kit/env';

const address: Setting<string | undefined> = {
  doc: 'The Redis in which the gateways of a cluster keep what they share, `redis://` or, by TLS, `rediss://`; unset, each keeps it in memory',
  fallback: undefined,
  secret: true,
  read: (value) => (isAddress(value) ? value : { problem: 'must be `redis://` or `rediss://` with a host' }),
};

function isAddress(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && /^rediss?:$/.test(url.protocol) && url.hostname !== '' && /^\/?\d*$/.test(url.pathname);
}

/** Settings of the store that the gateways of a cluster share. */
export const redisSettings = {
  REDIS_URL: address,
  REDIS_KEY_PREFIX: text('agent-workflow:', 'What every key in Redis begins with, for services that share one'),
  REDIS_TIMEOUT_MS: integer(
    500,
    'How long one command to Redis may take before Redis counts as unavailable, in milliseconds',
    {
      min: 10,
      max: 60_000,
    },
  ),
} satisfies Settings;

export type RedisConfig = Values<typeof redisSettings>;

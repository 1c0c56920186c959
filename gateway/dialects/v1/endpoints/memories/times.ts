import { readTime } from '@agent-workflow/protos/message';

interface Given {
  readonly timestamp?: string | number;
  readonly expires_at?: string | number;
}

interface Times {
  timestamp?: number;
  expiresAt?: number;
}

/** The times that a request gives a memory, as the memory service takes them. @throws Invalid for one that cannot be read. */
export function timesOf(given: Given): Times {
  const timestamp = readTime(given.timestamp, ['timestamp']);
  const expiresAt = readTime(given.expires_at, ['expiresAt']);
  return { ...(timestamp !== undefined && { timestamp }), ...(expiresAt !== undefined && { expiresAt }) };
}

import { readFileSync } from 'node:fs';
import { createClient, RequestError, type Client } from '@agent-workflow/client';

/** A gateway that a command calls. */
export interface Gateway {
  readonly url: string;
  /** A file with the bearer token of the caller. */
  readonly tokenFile: string | undefined;
}

/** @throws when the file cannot be read, which {@link isAway} is true of. */
export const clientOf = ({ url, tokenFile }: Gateway): Client =>
  createClient({ url, ...(tokenFile === undefined ? {} : { token: readFileSync(tokenFile, 'utf8').trim() }) });

/** Whether the gateway refuses or cannot be reached, or the file of the token cannot be read. */
export const isAway = (error: unknown): error is Error =>
  error instanceof RequestError || (error instanceof Error && 'syscall' in error);

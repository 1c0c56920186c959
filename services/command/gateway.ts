import { readFileSync } from 'node:fs';
import { createClient, RequestError, type Client } from '@agent-workflow/client';
import { ConfigError } from '@agent-workflow/kit/env';

/** A gateway that a command calls. */
export interface Gateway {
  readonly url: string;
  /** A file with the bearer token of the caller. */
  readonly tokenFile: string | undefined;
}

/**
 * A client that gives up an address where nobody answers after some two seconds: somebody waits for the command.
 * @throws ConfigError when the file of the token cannot be read, or holds what no header can.
 */
export const clientOf = ({ url, tokenFile }: Gateway): Client =>
  createClient({ url, maxAttempts: 5, ...(tokenFile === undefined ? {} : { token: readToken(tokenFile) }) });

function readToken(file: string): string {
  const token = readText(file).trim();
  if (!/^[\x20-\x7e]*$/.test(token)) throw new ConfigError(`--token-file ${file} must hold a token alone, in one line`);
  return token;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`--token-file ${file} cannot be read`, { cause: error });
  }
}

/** Whether the gateway refused a call or was not reached, or the file of the token holds none: the message is for operators. */
export const isGatewayFault = (error: unknown): error is Error =>
  error instanceof RequestError || error instanceof ConfigError;

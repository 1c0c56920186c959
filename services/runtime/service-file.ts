import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigError, text, type Settings } from '@agent-workflow/kit/env';

/** Where the operator's choices stand. */
export const serviceFileSettings = {
  SERVICE_CONFIG: text('./service.json', 'The file that names the agent and how callers are authenticated'),
} satisfies Settings;

/** How callers are authenticated: not at all, by a token, or by a backend of the operator (`<module>:<class>`). */
export type AuthMode = null | 'jwt' | { readonly method: 'custom'; readonly path: string };

/**
 * The address that a port listens on where the operator sets none: the loopback while nobody signs in, all addresses otherwise.
 * `undefined`: the process reads no `service.json`.
 */
export const listenHostOf = (auth: AuthMode | undefined): string => (auth === null ? '127.0.0.1' : '0.0.0.0');

/** What the operator chose in `service.json`. */
export interface ServiceFile {
  /** The graph object as `<module>:<object>`; relative modules are relative to `folder`. */
  readonly agent: string | undefined;
  readonly auth: AuthMode;
  /** The authorization backend as `<module>:<object>`. */
  readonly authorization: string | undefined;
  /** The folder that the file stands in, absolute. */
  readonly folder: string;
}

/**
 * Reads `service.json`. A key that is absent stands for its default.
 * @throws ConfigError naming the file and what in it does not hold.
 */
export function readServiceFile(path: string): ServiceFile {
  const fail = (problem: string): ConfigError => new ConfigError(`${path}: ${problem}`);
  const object = parseObject(readText(path, fail), fail);
  const unknown = Object.keys(object).filter((key) => !['agent', 'auth', 'authorization'].includes(key));
  if (unknown.length > 0) throw fail(`unknown key "${unknown.join('", "')}"; known are agent, auth, authorization`);
  const { agent, auth = null, authorization = null } = object;
  if (agent !== undefined && agent !== null && !isLocation(agent))
    throw fail(`agent must be "<module>:<object>", not ${show(agent)}`);
  if (!isAuthMode(auth))
    throw fail(`auth must be null, "jwt" or {"method": "custom", "path": "<module>:<class>"}, not ${show(auth)}`);
  if (authorization !== null && !isLocation(authorization))
    throw fail(`authorization must be null or "<module>:<object>", not ${show(authorization)}`);
  return {
    agent: agent ?? undefined,
    auth,
    authorization: authorization ?? undefined,
    folder: dirname(resolve(path)),
  };
}

function readText(path: string, fail: (problem: string) => ConfigError): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw fail(code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`);
  }
}

function parseObject(content: string, fail: (problem: string) => ConfigError): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw fail(`is not JSON: ${error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw fail(`must be a JSON object, not ${show(value)}`);
}

const isLocation = (value: unknown): value is string => typeof value === 'string' && /^.+:[^:/\\]+$/s.test(value);

function isAuthMode(value: unknown): value is AuthMode {
  if (value === null || value === 'jwt') return true;
  if (typeof value !== 'object') return false;
  const { method, path, ...more } = value as Record<string, unknown>;
  return method === 'custom' && isLocation(path) && Object.keys(more).length === 0;
}

/** A value as one short line of an error. */
const show = (value: unknown): string => {
  const line = JSON.stringify(value);
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
};

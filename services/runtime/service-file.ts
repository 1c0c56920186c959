import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigError, text, type Settings } from '@agent-workflow/kit/env';
import { isAgentName } from '@agent-workflow/kit/agents';

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

/** One of several agents. */
interface AgentEntry {
  readonly name: string;
  /** The graph object as `<module>:<object>`. */
  readonly location: string;
  readonly description?: string;
}

/** What the operator chose in `service.json`. */
export interface ServiceFile {
  /** The graph object as `<module>:<object>`; relative modules are relative to `folder`. Absent also where there are `agents`. */
  readonly agent: string | undefined;
  /** Several agents by name; `undefined` where there is one without a name, or none. */
  readonly agents: readonly AgentEntry[] | undefined;
  /** The agent that serves new threads whose first run names none: one of `agents`, or, where there are none, one that may be registered. */
  readonly defaultAgent: string | undefined;
  readonly auth: AuthMode;
  /** The authorization backend as `<module>:<object>`. */
  readonly authorization: string | undefined;
  /** Roles and what they allow, as the file has it: the gateway reads it. */
  readonly access: unknown;
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
  const unknown = Object.keys(object).filter((key) => !known.includes(key));
  if (unknown.length > 0) throw fail(`unknown key "${unknown.join('", "')}"; the known keys are ${known.join(', ')}`);
  const { agent, auth = null, authorization = null, access } = object;
  if (agent !== undefined && agent !== null && !isLocation(agent))
    throw fail(`agent must be "<module>:<object>", not ${show(agent)}${agent === 'none' ? noAgent : ''}`);
  if (!isAuthMode(auth))
    throw fail(`auth must be null, "jwt" or {"method": "custom", "path": "<module>:<class>"}, not ${show(auth)}`);
  if (authorization !== null && !isLocation(authorization))
    throw fail(`authorization must be null or "<module>:<object>", not ${show(authorization)}`);
  return {
    agent: agent ?? undefined,
    ...readAgents(object, fail),
    auth,
    authorization: authorization ?? undefined,
    access: access ?? undefined,
    folder: dirname(resolve(path)),
  };
}

const noAgent = ': a process without agents leaves the key out, or has null';

const known = ['agent', 'agents', 'default_agent', 'auth', 'authorization', 'access'];

type Fail = (problem: string) => ConfigError;

/** Whether the file names any agent with its code. */
export const namesAgents = ({ agent, agents }: Pick<ServiceFile, 'agent' | 'agents'>): boolean =>
  agent !== undefined || agents !== undefined;

/** @throws ConfigError when a name or an entry is bad, or both one agent and several are configured. */
function readAgents(
  { agent, agents, default_agent: chosen }: Readonly<Record<string, unknown>>,
  fail: Fail,
): Pick<ServiceFile, 'agents' | 'defaultAgent'> {
  if (agents === undefined) {
    if (chosen === undefined || chosen === null) return { agents: undefined, defaultAgent: undefined };
    if (agent !== undefined && agent !== null)
      throw fail('default_agent names one of agents, and agent is one without a name');
    if (typeof chosen !== 'string' || !isAgentName(chosen))
      throw fail(`default_agent must be the name of an agent, not ${show(chosen)}`);
    return { agents: undefined, defaultAgent: chosen };
  }
  if (agent !== undefined && agent !== null) throw fail('has both agent and agents: it is one or the other');
  if (!isObject(agents)) throw fail(`agents must be an object of names, not ${show(agents)}`);
  const entries = Object.entries(agents).map(([name, entry]) => readAgent(name, entry, fail));
  const [only, ...others] = entries;
  if (!only) throw fail('agents names none');
  if (chosen !== undefined && chosen !== null && !entries.some(({ name }) => name === chosen))
    throw fail(`default_agent must be one of ${entries.map(({ name }) => name).join(', ')}, not ${show(chosen)}`);
  const fallback = others.length === 0 ? only.name : undefined;
  return { agents: entries, defaultAgent: (chosen as string | null | undefined) ?? fallback };
}

function readAgent(name: string, entry: unknown, fail: Fail): AgentEntry {
  if (!isAgentName(name))
    throw fail(`agents: ${show(name)} must be 1 to 63 of a-z, 0-9 and "-", and begin with a letter`);
  if (isLocation(entry)) return { name, location: entry };
  const { path, description, ...more } = isObject(entry) ? entry : {};
  const isDescribed = description === undefined || (typeof description === 'string' && description.length <= 1000);
  if (!isLocation(path) || !isDescribed || Object.keys(more).length > 0)
    throw fail(`agents.${name} must be "<module>:<object>" or {"path": …, "description": …}, not ${show(entry)}`);
  return { name, location: path, ...(description === undefined ? {} : { description }) };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readText(path: string, fail: Fail): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw fail(code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`);
  }
}

function parseObject(content: string, fail: Fail): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw fail(`is not JSON: ${error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error)}`);
  }
  if (isObject(value)) return value;
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

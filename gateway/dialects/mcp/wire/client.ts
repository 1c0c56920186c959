import { randomBytes } from 'node:crypto';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { fieldsOf, isObject, textIn, type Fields } from './fields.ts';
import { RpcError, rpcCodes } from './rpc-error.ts';

/** The version without a handshake: each request says what its client can do. */
const modernVersion = '2026-07-28';

/** The versions that begin with `initialize`, the newest first. */
export const handshakeVersions: readonly string[] = ['2025-11-25', '2025-06-18'];

export const supportedVersions: readonly string[] = [modernVersion, ...handshakeVersions];

const metaPrefix = 'io.modelcontextprotocol/';
export const metaNames = {
  version: `${metaPrefix}protocolVersion`,
  capabilities: `${metaPrefix}clientCapabilities`,
  logLevel: `${metaPrefix}logLevel`,
  server: `${metaPrefix}serverInfo`,
} as const;

/** The extension whose tasks are runs. */
export const tasksExtension = `${metaPrefix}tasks`;

/** What a client may be asked for. */
export const askable = ['elicitation', 'sampling', 'roots'] as const;
export type Askable = (typeof askable)[number];

/** Who sends a request, as far as the protocol says. */
export interface Client {
  /** Whether it speaks the version without a handshake. */
  readonly isModern: boolean;
  /** What it may be asked for. */
  readonly can: ReadonlySet<Askable>;
  /** Whether it knows tasks. */
  readonly knowsTasks: boolean;
  /** The least level of log messages that it wants; `undefined`: it wants none. */
  readonly logLevel: string | undefined;
  /** Whether its streams begin with an id, behind which they go on: clients of earlier versions take no event without a message. */
  readonly takesFirstId: boolean;
  /** What its requests have in common since the handshake. */
  readonly session: string | undefined;
}

const declared = (capabilities: Fields): ReadonlySet<Askable> =>
  new Set(askable.filter((name) => isObject(capabilities[name])));

/**
 * The session of a client: what it has declared, and a random part. It holds all that a replica must know, so that none keeps sessions. It opens
 * nothing: who sends it authenticates as ever.
 */
export function toSession(capabilities: Fields): string {
  const can = [...declared(capabilities)];
  return Buffer.from(JSON.stringify({ can, of: randomBytes(16).toString('base64url') })).toString('base64url');
}

const sessionBytes = 512;

function fromSession(session: string): ReadonlySet<Askable> {
  const unknown = () => new RpcError(rpcCodes.invalidRequest, 'there is no such session', { status: 404 });
  if (session.length > sessionBytes) throw unknown();
  let read: Fields;
  try {
    read = fieldsOf(JSON.parse(Buffer.from(session, 'base64url').toString('utf8')));
  } catch {
    throw unknown();
  }
  const { can, of } = read;
  if (!Array.isArray(can) || typeof of !== 'string') throw unknown();
  return new Set(askable.filter((name) => can.includes(name)));
}

type Sent = Pick<EndpointRequest, 'header'>;

/** Whether a client reads no stream: it names JSON, and nothing that a stream is. */
export function takesJsonAlone({ header }: Sent): boolean {
  const accepted = header('accept') ?? '';
  return accepted.includes('application/json') && !streams.some((type) => accepted.includes(type));
}

const streams = ['text/event-stream', 'text/*', '*/*'];

/** Whether a request is one of the version without a handshake, or would be if it were whole. */
export const isModern = ({ header }: Sent, method: string, params: Fields): boolean =>
  metaNames.version in fieldsOf(params['_meta']) ||
  header('mcp-protocol-version') === modernVersion ||
  method === 'server/discover';

/** The client of a request of an era with a handshake. @throws RpcError */
export function handshakeClient({ header }: Sent): Client {
  const version = header('mcp-protocol-version');
  if (version !== undefined && !handshakeVersions.includes(version)) throw unsupportedVersion(version);
  const session = header('mcp-session-id');
  return {
    ...{
      isModern: false,
      knowsTasks: false,
      takesFirstId: version === handshakeVersions[0],
      logLevel: 'debug',
      session,
    },
    can: session === undefined ? new Set() : fromSession(session),
  };
}

/** The client of a request without a handshake. Its headers say what its body says. @throws RpcError */
export function modernClient({ header }: Sent, method: string, params: Fields): Client {
  const refused = (message: string): RpcError => new RpcError(rpcCodes.invalidParams, message, { status: 400 });
  const meta = fieldsOf(params['_meta']);
  const { [metaNames.version]: version, [metaNames.capabilities]: capabilities } = meta;
  const sentVersion = header('mcp-protocol-version');
  if (sentVersion === undefined) throw mismatch('MCP-Protocol-Version');
  if (typeof version !== 'string') throw refused(`_meta must have ${metaNames.version}`);
  if (sentVersion !== version) throw mismatch('MCP-Protocol-Version');
  if (version !== modernVersion) throw unsupportedVersion(version);
  if (!isObject(capabilities)) throw refused(`_meta must have ${metaNames.capabilities}`);
  if (header('mcp-method') !== method) throw mismatch('Mcp-Method');
  const named = nameHeaders[method];
  const name = named === undefined ? undefined : textIn(params[named]);
  if (name !== undefined && decoded(header('mcp-name')) !== name) throw mismatch('Mcp-Name');
  return {
    ...{ isModern: true, takesFirstId: false, session: undefined, logLevel: textIn(meta[metaNames.logLevel]) },
    can: declared(capabilities),
    knowsTasks: isObject(fieldsOf(capabilities['extensions'])[tasksExtension]),
  };
}

/** What stands in `Mcp-Name`, by method. */
const nameHeaders: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The arguments of a tool that its schema wants in headers, too, say there what they say in the body. @throws RpcError */
export function checkArgumentHeaders({ header }: Sent, inputSchema: Fields, given: Fields): void {
  for (const [name, property] of Object.entries(fieldsOf(inputSchema['properties']))) {
    const headerName = textIn(fieldsOf(property)['x-mcp-header']);
    if (headerName === undefined) continue;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    // What is not there, or is null, has no text: a proxy that reads the header must not see another call.
    const text =
      typeof value === 'string' ? value : (value ?? undefined) === undefined ? undefined : JSON.stringify(value);
    if (decoded(header(`mcp-param-${headerName.toLowerCase()}`)) !== text) throw mismatch(`Mcp-Param-${headerName}`);
  }
}

/** A value that no header can hold stands in it as Base64; `undefined` for what is none. */
function decoded(value: string | undefined): string | undefined {
  if (value === undefined || !value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const base64 = value.slice('=?base64?'.length, -'?='.length);
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? bytes.toString('utf8') : undefined;
}

const mismatch = (name: string): RpcError =>
  new RpcError(rpcCodes.headerMismatch, `${name} must be there and say what the body says`, { status: 400 });

const unsupportedVersion = (requested: string): RpcError =>
  new RpcError(rpcCodes.unsupportedVersion, 'this version of the protocol is not served', {
    ...{ data: { supported: supportedVersions, requested: requested.slice(0, 64) }, status: 400 },
  });

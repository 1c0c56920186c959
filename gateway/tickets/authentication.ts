import { ServiceError } from '@agent-workflow/kit/errors';
import type { Row } from '../http/endpoint.ts';
import type { Authenticate } from '../http/access.ts';
import type { Context, Principal } from '../http/context.ts';
import type { TicketStore } from './port.ts';
import { grantOf } from './ticket.ts';

interface TicketAuthenticationOptions {
  readonly endpoints: readonly Row[];
  readonly tickets: TicketStore;
  /** Authenticates every request without a ticket. */
  readonly authenticate: Authenticate;
  /** Lets in by a ticket that was made with the API key of this id. @throws Unauthenticated */
  readonly enterByKey: (ctx: Context, keyId: string) => Promise<void>;
}

/**
 * Authenticates requests by their ticket: for the stream of a run, or for the WebSocket of a thread. A request with an `Authorization` header
 * is authenticated by that alone, so that a ticket does not hide refused credentials. The ticket is removed from the URL, so that no later log
 * line or message contains it.
 */
export function withTickets({ endpoints, authenticate, ...stores }: TicketAuthenticationOptions): Authenticate {
  const paths = endpoints.filter(({ takesTicket }) => takesTicket).map(({ path }) => aroundId(path));
  return (ctx) => {
    const written = ctx.method === 'GET' ? namedIn(ctx.path, paths) : undefined;
    const { readId } = ctx.state.dialect;
    const id = readId && written !== undefined ? readId(written.id) : written?.id;
    const ticket = id === undefined ? undefined : takeTicket(ctx);
    if (id === undefined || !written || ticket === undefined || ctx.req.headers.authorization !== undefined)
      return authenticate(ctx);
    return principalOf(ctx, stores, { of: written.of, id, ticket });
  };
}

/** What a path names. */
type Of = 'run' | 'thread';

/** The parts of a path before and after the id. */
interface AroundId {
  readonly of: Of;
  readonly before: string;
  readonly after: string;
}

function aroundId(path: string): AroundId {
  const of = path.includes('{run_id}') ? 'run' : 'thread';
  const [before = '', after = ''] = path.split(`{${of}_id}`);
  return { of, before, after };
}

function namedIn(path: string, paths: readonly AroundId[]): { readonly of: Of; readonly id: string } | undefined {
  const around = paths.find(({ before, after }) => path.startsWith(before) && path.endsWith(after));
  if (!around) return undefined;
  const id = path.slice(around.before.length, path.length - around.after.length);
  return id === '' || id.includes('/') ? undefined : { of: around.of, id: decodeURIComponent(id) };
}

/** Removes `ticket` from the query and gives it; `""`, which is no ticket, when there are several. */
function takeTicket(ctx: Context): string | undefined {
  const { ticket, ...rest } = ctx.query;
  if (ticket === undefined) return undefined;
  ctx.query = rest;
  return typeof ticket === 'string' ? ticket : '';
}

interface TicketUse {
  readonly of: Of;
  readonly id: string;
  readonly ticket: string;
}

/** Unknown, expired and foreign tickets get the same refusal. */
async function principalOf(
  ctx: Context,
  { tickets, enterByKey }: Pick<TicketAuthenticationOptions, 'tickets' | 'enterByKey'>,
  { of, id, ticket }: TicketUse,
): Promise<Principal> {
  const grant = await grantOf(tickets, ticket);
  const isOf =
    grant && (of === 'run' ? 'runId' in grant && grant.runId === id : 'threadId' in grant && grant.threadId === id);
  if (!isOf) throw new ServiceError('Unauthenticated', 'the ticket is not valid');
  const { owner, keyId } = grant;
  if (keyId !== undefined) await enterByKey(ctx, keyId);
  ctx.state.byTicket = true;
  if ('runId' in grant) return { owner };
  if (grant.until !== undefined) ctx.state.expiresAt = grant.until;
  return { owner, ...(grant.user && { user: grant.user }) };
}

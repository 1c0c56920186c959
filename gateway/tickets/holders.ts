import { ServiceError } from '@agent-workflow/kit/errors';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Authenticate } from '../middleware/authenticate.ts';
import type { Context, Principal } from '../middleware/context.ts';
import type { TicketStore } from './port.ts';
import { admissionOf } from './ticket.ts';

export interface HoldersOptions {
  readonly endpoints: readonly Endpoint[];
  readonly tickets: TicketStore;
  /** Judges every request that is not let in by a ticket. */
  readonly authenticate: Authenticate;
}

/**
 * Lets in whoever brings a ticket for the run whose stream is asked for. A request with an `Authorization` header is
 * judged by that alone, so that a ticket mends no credentials that are refused. The ticket is taken out of the address:
 * whatever logs or tells the address from here on cannot tell the ticket.
 */
export function withTickets({ endpoints, tickets, authenticate }: HoldersOptions): Authenticate {
  const patterns = endpoints.filter(({ takesTicket }) => takesTicket).map(({ path }) => patternOf(path));
  return (ctx) => {
    const runId = ctx.method === 'GET' ? runIdIn(ctx.path, patterns) : undefined;
    const ticket = runId === undefined ? undefined : takeTicket(ctx);
    if (runId === undefined || ticket === undefined || ctx.req.headers.authorization !== undefined)
      return authenticate(ctx);
    return admit(ctx, tickets, { runId, ticket });
  };
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace('{run_id}', '([^/]+)')}$`);

function runIdIn(path: string, patterns: readonly RegExp[]): string | undefined {
  for (const pattern of patterns) {
    const [, runId] = pattern.exec(path) ?? [];
    if (runId !== undefined) return decodeURIComponent(runId);
  }
  return undefined;
}

/** The `ticket` of the query; of a request that brings several, none holds. */
function takeTicket(ctx: Context): string | undefined {
  const { ticket, ...rest } = ctx.query;
  if (ticket === undefined) return undefined;
  ctx.query = rest;
  return typeof ticket === 'string' ? ticket : '';
}

interface Held {
  readonly runId: string;
  readonly ticket: string;
}

/** Unknown, expired and foreign tickets are not told apart. */
async function admit(ctx: Context, tickets: TicketStore, { runId, ticket }: Held): Promise<Principal> {
  const admission = await admissionOf(tickets, ticket);
  if (admission?.runId !== runId) throw new ServiceError('Unauthenticated', 'the ticket does not hold');
  ctx.state.byTicket = true;
  return { owner: admission.owner };
}

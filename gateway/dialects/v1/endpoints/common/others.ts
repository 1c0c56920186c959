import { anonymousOwner, newId, ownerOf, userIdOf } from '@agent-workflow/kit/ids';
import { ServiceError } from '@agent-workflow/kit/errors';
import { decide } from '../../../../access/decide.ts';
import { ofKey } from '../../../../api-keys/scopes.ts';
import { appendLine, type AuditLine } from '../../../../audit/audit.ts';
import type { ForOperators } from '../../../../http/access.ts';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import { invalidAt } from '../../../../http/fields.ts';
import { propertiesOf } from '../../../../http/query.ts';
import { Type } from '../../../common/builders.ts';
import type { Services } from '../../../common/services.ts';
import { ownedBy } from '../../schemas/admin.ts';
import { endpoint, type DescribedEndpoint } from './endpoint.ts';

/** The owner that a request about somebody else's things names. */
export const ownerIn = ({ user_id: userId }: { readonly user_id?: string }): string =>
  userId === undefined ? anonymousOwner : ownerOf(userId);

/** Whose something is, as replies show it. */
export const shownOwner = (owner: string): string | null => userIdOf(owner) ?? null;

type Asked = Pick<EndpointRequest, 'owner' | 'user' | 'roles' | 'requestId' | 'header' | 'call'>;

interface About extends Pick<AuditLine, 'action' | 'operation' | 'of' | 'runId' | 'threadId'> {
  /** That of the input; absent, the header says it. */
  readonly reason: string | undefined;
  /** Where the input stands; `query` unless given. */
  readonly place?: 'query' | 'body';
}

/**
 * Notes in the audit what a caller is about to see or to do. @throws Invalid without a reason; Unavailable when it cannot be noted, and then nothing is
 * to be shown or done.
 */
export async function audit(
  { owner: who, user, roles = [], requestId, header, call }: Asked,
  { reason: given, place = 'query', ...about }: About,
  { threads }: Pick<Services, 'threads'>,
): Promise<void> {
  const reason = given ?? header('x-access-reason');
  if (reason === undefined || reason.trim() === '' || reason.length > mostReason)
    throw invalidAt([place, 'reason'], 'is required, here or as X-Access-Reason: why it is done', 'missing');
  const line = { who, roles, ...ofKey(user), ...about, reason: reason.toWellFormed(), requestId };
  await appendLine(threads, { id: newId(), line }, call());
}

const mostReason = 1000;

/** @throws PermissionDenied when no role of the caller reads contents. */
export function mustReadContents(
  caller: Pick<EndpointRequest, 'owner' | 'roles'>,
  what: ForOperators['what'],
  { access }: Pick<Services, 'access'>,
): void {
  if (decide(access, caller, { kind: 'admin', what, contents: true })) return;
  throw new ServiceError('PermissionDenied', 'no role of the caller reads contents');
}

/** What an operation on somebody else's things has of its own. */
interface OfOthers extends Pick<DescribedEndpoint, 'name' | 'path' | 'summary' | 'description' | 'example'> {
  readonly forOperators: ForOperators;
  /** What the audit says of it; absent: it shows no contents, and stands there not. */
  readonly action?: AuditLine['action'];
}

/** What is read of the input, beside that of the operation. */
interface Named {
  readonly user_id?: string;
  readonly reason?: string;
}

interface InPath {
  readonly run_id?: string;
  readonly thread_id?: string;
}

/** An operation of owners for somebody else's things: `user_id` says whose. It does what it does for the owner, once the audit has it. */
export function ofOthers(row: DescribedEndpoint, { action, forOperators, ...own }: OfOthers): DescribedEndpoint {
  // A ticket is for the stream of its owner alone.
  const { takesTicket: _takesTicket, ...rest } = row;
  const input = Type.Object({ ...propertiesOf(row.input ?? Type.Object({})), ...ownedBy });
  return {
    ...endpoint({
      ...rest,
      ...own,
      tag: 'admin',
      access: { resource: 'admin', action: row.method === 'GET' ? 'read' : 'write' },
      forOperators,
      input,
      handle: async (request, services) => {
        const { user_id: userId, reason, ...given } = request.input as Named;
        const of = ownerIn({ ...(userId !== undefined && { user_id: userId }) });
        const { run_id: runId, thread_id: threadId } = request.params as InPath;
        const place = row.method === 'GET' ? 'query' : 'body';
        if (action) await audit(request, { action, operation: own.name, of, runId, threadId, reason, place }, services);
        const { roles: _roles, ...asOwner } = request;
        return row.handle({ ...asOwner, input: given, owner: of, user: undefined }, services);
      },
    }),
    aliases: [],
  };
}

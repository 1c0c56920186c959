import { conflict, notFound, ServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Thread } from '@agent-workflow/protos/threads';
import type { TSchema } from 'typebox';
import { decide } from '../../../../access/decide.ts';
import type { ShareRight } from '../../../../access/rules.ts';
import { untilAborted } from '../../../../files/index.ts';
import type { FileContent } from '../../../../http/content.ts';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import { findShare, fromShareId, watchShare, type Share } from '../../../../shares/index.ts';
import { principalOf } from '../../../common/questions.ts';
import type { Services } from '../../../common/services.ts';
import { exampleIds } from '../../examples/ids.ts';
import { endpoint, type DescribedEndpoint } from './endpoint.ts';

type Caller = Pick<EndpointRequest, 'owner' | 'roles'>;

/** Whether a caller may do this by a share now. */
export const mayBy = (
  share: Share,
  { owner, roles = [] }: Caller,
  action: ShareRight,
  access: Services['access'],
): boolean => decide(access, { owner, roles }, { kind: 'share', action, ...share, now: Date.now() });

/** What a row of a shared thread has of its own. */
interface OfShared extends Pick<DescribedEndpoint, 'name' | 'path' | 'summary'> {
  readonly params: TSchema;
  readonly input?: TSchema;
  /** Beside `read`, without which nothing is shown. */
  readonly right: ShareRight | ((input: never) => ShareRight);
  /** The body of its example; absent: that of the owner. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The reply of its example; absent: that of the owner. */
  readonly exampleReply?: unknown;
  /** The input as the owner would send it. */
  readonly toInput?: (input: never, at: SharedPlace) => object;
}

function exampleParams({ example }: DescribedEndpoint): Readonly<Record<string, string>> {
  const { thread_id: _thread, ...params } = example.params ?? {};
  return { share_id: exampleIds.share, ...params };
}

/** Where a request by a share goes. */
export interface SharedPlace {
  readonly threadId: string;
  /** Who sends it, as people know them. */
  readonly sender: string;
  /** Whether the sender may answer the questions of the owner, too. */
  readonly mayAnswer: boolean;
}

interface InPath {
  readonly share_id: string;
  readonly run_id?: string;
  readonly file_id?: string;
}

/**
 * An operation of owners for those with whom a thread is shared. Who has no part in the share finds nothing. What takes long ends soon after the share
 * has ended.
 */
export function ofShared(
  row: DescribedEndpoint,
  { right, toInput, body, exampleReply, ...own }: OfShared,
): DescribedEndpoint {
  const { takesTicket: _, input: given, params: _params, ...more } = row;
  const input = own.input ?? given;
  return {
    ...endpoint({
      ...more,
      ...own,
      tag: 'shares',
      example: {
        ...{ ...row.example, params: exampleParams(row), ...(body && { body }) },
        ...(exampleReply !== undefined && { reply: exampleReply }),
      },
      description: `As \`${row.method} ${row.path}\` for the owner of the thread.`,
      aliases: [],
      isOfOthers: true,
      ...(input && { input }),
      handle: async (request, services) => {
        const { share_id: shareId, run_id: runId, ...params } = request.params as InPath;
        const action = typeof right === 'string' ? right : right(request.input as never);
        const { share, thread } = await enterShare(request, shareId, action, services);
        const { owner, threadId } = share;
        const mayAnswer = mayBy(share, request, 'answer', services.access);
        const keepsQuestions = action === 'write' && !(row.startsRun && mayAnswer);
        if (keepsQuestions) refuseAsking(thread);
        if (runId !== undefined) await requireRun({ owner, threadId, runId }, request, services);
        // A file that the thread does not name is absent, though its owner has it.
        const { file_id: fileId } = params;
        if (fileId !== undefined) await services.threads.getFile({ owner, threadId, fileId }, request.call());
        const revoked = new AbortController();
        const mayGoOn = (now: Share): boolean => mayBy(now, request, action, services.access);
        const watch = watchShare(services.threads, share, { mayGoOn, end: () => revoked.abort() });
        request.onClose(() => watch[Symbol.dispose]());
        const { call, roles: _roles, ...rest } = request;
        const asOwner: EndpointRequest = {
          ...rest,
          ...{ owner, sender: request.owner, keepsQuestions, shareId, shareUntil: share.until },
          params: { ...params, thread_id: threadId, ...(runId !== undefined && { run_id: runId }) },
          input: toInput
            ? toInput(request.input as never, { threadId, sender: principalOf(request.owner), mayAnswer })
            : request.input,
          call: (ms) => {
            const made = call(ms);
            return { ...made, signal: AbortSignal.any([made.signal, revoked.signal]) };
          },
        };
        try {
          const reply = await row.handle(asOwner, services);
          return row.answer === 'content' ? untilAborted(reply as FileContent, revoked.signal) : reply;
        } catch (error) {
          throw revoked.signal.aborted ? noShare() : error;
        }
      },
    }),
  };
}

const noShare = () => notFound('there is no such share');

/** Finds a share that lets the caller do this. @throws NotFound, and PermissionDenied where it lets the caller only read */
export async function enterShare(
  request: Pick<EndpointRequest, 'owner' | 'roles' | 'call'>,
  shareId: string,
  action: ShareRight,
  { threads, access }: Pick<Services, 'threads' | 'access'>,
): Promise<{ readonly share: Share; readonly thread: Thread }> {
  const key = fromShareId(shareId);
  const share = key && (await findShare(threads, key, request.call()));
  if (!share || !mayBy(share, request, 'read', access)) throw noShare();
  const { owner, threadId, threadCreatedAt } = share;
  const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, request.call()));
  if (thread?.createdAt !== threadCreatedAt) throw noShare();
  if (!mayBy(share, request, action, access))
    throw new ServiceError('PermissionDenied', `the thread is not shared with you for this: "${action}" is missing`);
  return { share, thread };
}

/**
 * A message would drop what the thread waits for, which takes the right to answer; and so would a stop, which is the owner's alone then. The record
 * refuses it, too, where the thread has asked meanwhile.
 * @throws Conflict
 */
function refuseAsking({ waitsFor }: Thread): void {
  if (waitsFor !== undefined) throw conflict('the thread waits for an answer, which this would drop');
}

/** @throws NotFound for a run of another thread */
async function requireRun(
  { owner, threadId, runId }: { readonly owner: string; readonly threadId: string; readonly runId: string },
  { call }: Pick<EndpointRequest, 'call'>,
  { threads }: Pick<Services, 'threads'>,
): Promise<void> {
  const run = await undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
  if (run?.threadId !== threadId) throw notFound(`run "${runId}" does not exist`);
}

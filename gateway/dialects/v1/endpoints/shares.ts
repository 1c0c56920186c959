import { eachOf } from '@agent-workflow/kit/each';
import { badRequest, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { userIdOf } from '@agent-workflow/kit/ids';
import { readTime } from '@agent-workflow/protos/message';
import type { Resource, Thread } from '@agent-workflow/protos/threads';
import { shareRights, type Recipient, type ShareRight } from '../../../access/rules.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import {
  createShare as create,
  deleteShare as remove,
  fromShareId,
  listShares as list,
  listSharesWith,
  shareOf,
  toShareId,
  type Share,
} from '../../../shares/index.ts';
import type { Services } from '../../common/services.ts';
import { shownItems } from '../../common/shown-items.ts';
import * as examples from '../examples/shares.ts';
import { Done, maxLimit } from '../schemas/common.ts';
import { CreateRunInput, type RunInput, type StreamInput } from '../schemas/graph.ts';
import * as schemas from '../schemas/shares.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { getCheckpoint, listCheckpoints } from './checkpoints.ts';
import { endpoint } from './common/endpoint.ts';
import { enterShare, mayBy, ofShared, type SharedPlace } from './common/shared.ts';
import { getShown, listShown, streamShown, waitForShown } from './common/shown-history.ts';
import { getFile, getFileInfo, getFileUrl } from './files.ts';
import { invokeGraph, streamGraph } from './graph.ts';
import { getMessage, listMessages } from './messages.ts';
import { cancelRun, createRun, getRun, listRuns, streamRun, waitForRun } from './runs.ts';
import { getState } from './state.ts';
import { getThread } from './threads.ts';

const read = { resource: 'checkpointer', action: 'read' } as const;
const write = { resource: 'checkpointer', action: 'write' } as const;

const shown = (share: Share): object => ({
  share_id: toShareId(share),
  thread_id: share.threadId,
  user_id: userIdOf(share.owner) ?? '',
  to: share.to,
  rights: share.rights,
  until: share.until === undefined ? null : new Date(share.until).toISOString(),
  created_at: new Date(share.createdAt).toISOString(),
});

/** One that cannot be read is left out. */
const readShares = (rows: readonly Resource[], { log }: Pick<Services, 'log'>): readonly Share[] =>
  shownItems(rows, { kind: 'share', show: shareOf, idsOf: ({ id }) => ({ shareId: id }), log });

/** Those whose threads are still there, with these. */
async function stillThere(
  shares: readonly Share[],
  call: EndpointRequest['call'],
  threads: Services['threads'],
): Promise<readonly (readonly [Share, Thread])[]> {
  const there = new Map<Share, Thread>();
  await eachOf(shares, threadsAtOnce, async (share) => {
    const { owner, threadId, threadCreatedAt } = share;
    const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
    if (thread?.createdAt === threadCreatedAt) there.set(share, thread);
  });
  return shares.flatMap((share) => {
    const thread = there.get(share);
    return thread ? [[share, thread] as const] : [];
  });
}

/** Threads that are looked up at the same time. */
const threadsAtOnce = 16;

export const createShare = endpoint({
  name: 'createShare',
  tag: 'shares',
  summary: 'Share a thread with a user, a role or everybody who is signed in',
  description:
    'Lets others read a thread at `/v1/shared/{share_id}`, start runs in it, or answer the questions that are to its owner. Runs that they start are runs of the owner: the agent has the memories of the owner, and the claims of who sends the message. An owner has at most 1,000 shares; one more is 409. 400 where nobody signs in.',
  example: examples.createShare,
  method: 'POST',
  path: '/v1/threads/{thread_id}/shares',
  access: write,
  params: ThreadParams,
  input: schemas.CreateShare,
  reply: schemas.Share,
  handle: async ({ params, input, owner, newId, call }, { threads, access }) => {
    const { threadId, createdAt } = await threads.getThread({ owner, threadId: params.thread_id }, call());
    if (!access.signsIn) throw badRequest('nobody signs in here: there is nobody to share with');
    const to = recipientOf(input.to, { owner, access });
    const until = readTime(input.until ?? undefined, ['body', 'until']);
    if (until !== undefined && until <= Date.now())
      throw invalidAt(['body', 'until'], 'must be a time to come', 'value_error');
    const rights = shareRights.filter((right) => right === 'read' || input.rights.includes(right));
    const content = { threadId, threadCreatedAt: createdAt, to, rights, ...(until !== undefined && { until }) };
    return JSON.stringify(shown(await create(threads, { owner, id: newId('share') }, content, call)));
  },
});

/** @throws Invalid naming the field */
function recipientOf(
  to: { readonly user?: string; readonly role?: string; readonly everybody?: boolean },
  { owner, access }: Pick<EndpointRequest, 'owner'> & Pick<Services, 'access'>,
): Recipient {
  const { user, role, everybody } = to;
  if ([user, role, everybody].filter((given) => given !== undefined).length !== 1)
    throw invalidAt(['body', 'to'], 'must have one of user, role and everybody', 'value_error');
  if (user !== undefined && user === userIdOf(owner))
    throw invalidAt(['body', 'to', 'user'], 'must be another user: the thread is yours', 'value_error');
  if (role !== undefined && !access.roles.has(role))
    throw invalidAt(['body', 'to', 'role'], 'must be a role of service.json', 'value_error');
  return user === undefined ? (role === undefined ? { everybody: true } : { role }) : { user };
}

export const listShares = endpoint({
  name: 'listShares',
  tag: 'shares',
  summary: 'List the shares of a thread, newest first',
  description:
    'The shares of a thread, the newest first, in pages, those that have ended among them. A page may hold few or none: the next one follows.',
  example: examples.listShares,
  method: 'GET',
  path: '/v1/threads/{thread_id}/shares',
  access: read,
  params: ThreadParams,
  input: schemas.SharesQuery,
  reply: schemas.ShareList,
  handle: async ({ params, input: { limit, cursor }, owner, call }, { threads, log }) => {
    const { threadId, createdAt } = await threads.getThread({ owner, threadId: params.thread_id }, call());
    const page = { owner, limit: Math.min(limit, maxLimit), ...(cursor !== undefined && { cursor }) };
    const { rows, cursor: next } = await list(threads, page, call);
    const shares = readShares(rows, { log }).filter(
      (share) => share.threadId === threadId && share.threadCreatedAt === createdAt,
    );
    return JSON.stringify({ shares: shares.map(shown), has_more: next !== undefined, cursor: next });
  },
});

export const deleteShare = endpoint({
  name: 'deleteShare',
  tag: 'shares',
  summary: 'Revoke a share',
  description: 'Revokes a share. Streams that its recipients follow end within five seconds, on every replica.',
  example: examples.deleteShare,
  method: 'DELETE',
  path: '/v1/threads/{thread_id}/shares/{share_id}',
  access: write,
  params: schemas.ShareParams,
  reply: Done,
  handle: async ({ params, owner, call }, { threads }) => {
    const key = fromShareId(params.share_id);
    await remove(threads, { owner, id: key?.owner === owner ? key.id : '-', threadId: params.thread_id }, call);
    return JSON.stringify({ success: true });
  },
});

export const listSharedWithMe = endpoint({
  name: 'listSharedWithMe',
  tag: 'shares',
  summary: 'List the threads that others share with the caller',
  description:
    'The shares with the caller, with a role of the caller (`role`), or with everybody (`everybody=true`), the newest first, in pages; those that have ended are left out. Without either the shares with the caller alone.',
  example: examples.listSharedWithMe,
  method: 'GET',
  path: '/v1/shared',
  access: read,
  input: schemas.SharedQuery,
  reply: schemas.SharedThreadList,
  handle: async ({ input, owner, roles = [], call }, { threads, access, log }) => {
    const { limit, cursor, role, everybody } = input;
    const caller = { owner, roles };
    const user = userIdOf(owner);
    const to: Recipient | undefined =
      role === undefined
        ? everybody === 'true'
          ? { everybody: true }
          : user === undefined
            ? undefined
            : { user }
        : { role };
    if (!to || ('role' in to && !roles.includes(to.role))) return JSON.stringify({ shares: [], has_more: false });
    const page = { to, limit: Math.min(limit, mostShared), ...(cursor !== undefined && { cursor }) };
    const { rows, cursor: next } = await listSharesWith(threads, page, call);
    const known = readShares(rows, { log }).filter((share) => mayBy(share, caller, 'read', access));
    const there = await stillThere(known, call, threads);
    return JSON.stringify({ shares: there.map(shownWithThread), has_more: next !== undefined, cursor: next });
  },
});

const shownWithThread = ([share, { title, status, updatedAt }]: readonly [Share, Thread]): object => ({
  ...shown(share),
  thread_title: title ?? null,
  status: status ?? 'idle',
  updated_at: new Date(updatedAt).toISOString(),
});

export const getSharedShare = endpoint({
  name: 'getSharedShare',
  tag: 'shares',
  summary: 'Get what a share lets the caller do',
  description:
    'Whose thread it is, and what its recipients may do until when. 404 for those who have no part in it, the owner too.',
  example: examples.getSharedShare,
  method: 'GET',
  path: '/v1/shared/{share_id}/share',
  access: read,
  isOfOthers: true,
  params: schemas.SharedParams,
  reply: schemas.Share,
  handle: async (request, services) =>
    JSON.stringify(shown((await enterShare(request, request.params.share_id, 'read', services)).share)),
});

/** Each of them is read by itself. */
const mostShared = 100;

const of = '/v1/shared/{share_id}';

type Given = NonNullable<RunInput['messages']>[number];

type Sent = Pick<StreamInput, 'messages' | 'resume' | 'recursion_limit' | 'response_granularity' | 'stream_modes'> & {
  readonly config?: Pick<NonNullable<RunInput['config']>, 'multitask_strategy' | 'on_disconnect'>;
};

/** An answer needs another right than a message, and brings none. @throws Invalid */
function rightOfRun({ resume, messages = [] }: Sent): ShareRight {
  if (resume === undefined) return 'write';
  if (messages.length > 0) throw invalidAt(['body', 'messages'], 'must be empty with resume', 'value_error');
  return 'answer';
}

/**
 * The fields that a recipient may give. The rest of a request is the owner's to say.
 * @throws Invalid, which names a field that is the owner's
 */
function inThread(sent: Sent, { threadId, sender, mayAnswer }: SharedPlace): object {
  const { config = {}, messages = [], resume, recursion_limit: recursionLimit, stream_modes: modes } = sent;
  const { response_granularity: granularity } = sent;
  const { multitask_strategy: strategy, on_disconnect: onDisconnect } = config;
  refuseGiven(sent, (name) => ofOwner.has(name), ['body']);
  refuseGiven(config, (name) => !ofRecipientConfig.has(name), ['body', 'config']);
  return {
    messages: messages.map((message, index) => ofSender(message, index, sender)),
    ...(resume !== undefined && { resume }),
    ...{ recursion_limit: recursionLimit },
    ...(granularity && { response_granularity: granularity }),
    ...(modes && { stream_modes: modes }),
    config: {
      thread_id: threadId,
      // A message that waits behind a run would drop what that asks.
      multitask_strategy: mayAnswer ? (strategy ?? 'enqueue') : 'reject',
      ...(onDisconnect && { on_disconnect: onDisconnect }),
    },
  };
}

const { properties: ofRecipient } = schemas.SharedRunInput;
const ofRecipientConfig: ReadonlySet<string> = new Set(Object.keys(ofRecipient.config.properties));
/** The fields of a run that are its owner's alone. */
const ofOwner: ReadonlySet<string> = new Set(
  Object.keys(CreateRunInput.properties).filter((name) => !Object.hasOwn(ofRecipient, name)),
);

/** @throws Invalid, which names the first field that is given and refused */
function refuseGiven(given: object, isRefused: (name: string) => boolean, at: Loc): void {
  const fault = Object.entries(given).find(([name, value]) => value !== null && value !== undefined && isRefused(name));
  if (fault) throw invalidAt([...at, fault[0]], 'must be absent: it is the owner’s to say', 'value_error');
}

const personal: ReadonlySet<string> = new Set(['role', 'content', 'metadata', 'timestamp']);
/** What a person says. What tools and models make is the agent's. */
const spoken: ReadonlySet<string> = new Set(['text', 'image', 'audio', 'video', 'document', 'data']);

/** A message of a recipient is a new one of a user, and says who has sent it. @throws Invalid */
function ofSender(message: Given, index: number, sender: string): object {
  const at = ['body', 'messages', index];
  if (message.role !== 'user') throw invalidAt([...at, 'role'], 'must be user', 'value_error');
  refuseGiven(message, (name) => !personal.has(name), at);
  if (typeof message.content !== 'string') refuseBlocks(message.content, [...at, 'content']);
  return { ...message, metadata: { ...message.metadata, sender } };
}

function refuseBlocks(blocks: Exclude<Given['content'], string>, at: Loc): void {
  const place = blocks.findIndex(({ type }) => !spoken.has(type));
  if (place >= 0) throw invalidAt([...at, place, 'type'], `must be one of ${[...spoken].join(', ')}`, 'value_error');
  // A file of the owner that the thread does not name would be named by it then.
  if (JSON.stringify(blocks).includes('"file_id":'))
    throw invalidAt(at, 'must have no file_id: files are the owner’s to name', 'value_error');
}

const run = {
  params: schemas.SharedParams,
  input: schemas.SharedRunInput,
  right: rightOfRun,
  toInput: inThread,
  body: examples.sharedRun,
};
const ofThread = { params: schemas.SharedParams, right: 'read' } as const;
const ofFile = { params: schemas.SharedFileParams, right: 'read' } as const;
const ofRun = { params: schemas.SharedRunParams, right: 'read' } as const;

/** What recipients may do, each as the owner does it. */
export const sharedRows = [
  ofShared(getThread, { ...ofThread, name: 'getSharedThread', path: of, summary: 'Get a shared thread' }),
  ofShared(getState, {
    ...ofThread,
    ...{ name: 'getSharedState', path: `${of}/state`, summary: 'Get the state of a shared thread' },
  }),
  ofShared(listMessages, {
    ...ofThread,
    ...{ name: 'listSharedMessages', path: `${of}/messages`, summary: 'List the messages of a shared thread' },
  }),
  ofShared(getMessage, {
    ...{ ...ofThread, params: schemas.SharedMessageParams },
    ...{ name: 'getSharedMessage', path: `${of}/messages/{message_id}`, summary: 'Get a message of a shared thread' },
  }),
  ofShared(listShown(listCheckpoints), {
    ...ofThread,
    ...{ name: 'listSharedCheckpoints', path: `${of}/checkpoints`, summary: 'List the checkpoints of a shared thread' },
  }),
  ofShared(getShown(getCheckpoint), {
    ...{ ...ofThread, params: schemas.SharedCheckpointParams },
    ...{
      name: 'getSharedCheckpoint',
      path: `${of}/checkpoints/{checkpoint_id}`,
      summary: 'Get a checkpoint of a shared thread',
    },
  }),
  ofShared(listRuns, {
    ...ofThread,
    ...{ name: 'listSharedRuns', path: `${of}/runs`, summary: 'List the runs of a shared thread' },
  }),
  ofShared(getFile, {
    ...ofFile,
    ...{ name: 'getSharedFile', path: `${of}/files/{file_id}`, summary: 'Read the bytes of a file of a shared thread' },
  }),
  ofShared(getFileInfo, {
    ...{ ...ofFile, exampleReply: examples.sharedFileInfo },
    ...{
      name: 'getSharedFileInfo',
      path: `${of}/files/{file_id}/info`,
      summary: 'Read what is known about a file of a shared thread',
    },
  }),
  ofShared(getFileUrl, {
    ...ofFile,
    ...{
      name: 'getSharedFileUrl',
      path: `${of}/files/{file_id}/url`,
      summary:
        'Make an address at which anybody reads a file of a shared thread, for ten minutes and as long as it is shared',
    },
  }),
  ofShared(createRun, {
    ...run,
    ...{ name: 'createSharedRun', path: `${of}/runs`, summary: 'Accept a run in a shared thread' },
  }),
  ofShared(invokeGraph, {
    ...run,
    ...{ name: 'invokeShared', path: `${of}/invoke`, summary: 'Run the agent of a shared thread and get its result' },
  }),
  ofShared(streamGraph, {
    ...{ ...run, input: schemas.SharedStreamInput },
    ...{ name: 'streamShared', path: `${of}/stream`, summary: 'Run the agent of a shared thread and follow it' },
  }),
  ofShared(getRun, { ...ofRun, name: 'getSharedRun', path: `${of}/runs/{run_id}`, summary: 'Get a run' }),
  ofShared(waitForShown(waitForRun), {
    ...ofRun,
    ...{
      name: 'waitForSharedRun',
      path: `${of}/runs/{run_id}/wait`,
      summary: 'Get the result of a run of a shared thread',
    },
  }),
  ofShared(streamShown(streamRun), {
    ...ofRun,
    ...{ name: 'streamSharedRun', path: `${of}/runs/{run_id}/stream`, summary: 'Follow a run of a shared thread' },
  }),
  ofShared(cancelRun, {
    ...{ ...ofRun, right: 'write' },
    ...{ name: 'cancelSharedRun', path: `${of}/runs/{run_id}/cancel`, summary: 'Stop a run of a shared thread' },
  }),
];

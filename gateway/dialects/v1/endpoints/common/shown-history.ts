import { notFound } from '@agent-workflow/kit/errors';
import type { CheckpointSource } from '@agent-workflow/protos/lists';
import type { ThreadCheckpoint } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../../http/endpoint.ts';
import { jsonText, type JsonParts } from '../../../../http/json.ts';
import type { Services } from '../../../common/services.ts';
import type { DescribedEndpoint } from './endpoint.ts';

// With whom a thread is shared reads what it holds now, and its history back to the last change that its owner has made by hand: what he has deleted
// or written anew stands in what is older. These rows are those of the owner, with that left out.

/** What of the history of a thread is shown by a share. */
interface ShownHistory {
  /** The first checkpoint that is shown. */
  readonly from: number;
  /** The runs that have a checkpoint from there on. */
  readonly runs: ReadonlySet<string>;
}

/** What runs make. All else the owner has written, deleted or brought back. */
const ofRuns: ReadonlySet<CheckpointSource> = new Set(['input', 'step']);
/** Checkpoints that one page holds, and pages that are looked through; of a longer history the newest part is shown. */
const pageSize = 100;
const mostPages = 20;

async function shownHistory(request: EndpointRequest, { threads }: Services): Promise<ShownHistory> {
  const { thread_id: threadId = '' } = request.params as InPath;
  const runs = new Set<string>();
  let from = Infinity;
  let next: { readonly cursor?: string } = {};
  for (let pages = 0; pages < mostPages; pages += 1) {
    const asked = { owner: request.owner, threadId, limit: pageSize, offset: 0, ...next };
    const { checkpoints, cursor } = await threads.listCheckpoints(asked, request.call());
    for (const checkpoint of checkpoints) {
      const { checkpointId, source, runId } = checkpoint;
      from = Number(checkpointId);
      if (!ofRuns.has(source)) return { from, runs };
      if (runId !== undefined) runs.add(runId);
      if (replacesMessages(checkpoint)) return { from, runs };
    }
    if (cursor === undefined) break;
    next = { cursor };
  }
  return { from, runs };
}

/** Whether the input of a run stands in place of a message that the thread held. */
const replacesMessages = ({ source, metadataJson }: ThreadCheckpoint): boolean =>
  source === 'input' && metadataJson !== undefined && jsonText(metadataJson).includes('"replaces":true');

interface InPath {
  readonly thread_id?: string;
  readonly checkpoint_id?: string;
  readonly run_id?: string;
}

/** The list of checkpoints, which ends with the first that is shown. */
export const listShown = (row: DescribedEndpoint): DescribedEndpoint => ({
  ...row,
  handle: async (request, services) => {
    const { from } = await shownHistory(request, services);
    const page = JSON.parse(textOf(await row.handle(request, services))) as CheckpointPage;
    const checkpoints = page.checkpoints.filter(({ checkpoint_id: id }) => Number(id) >= from);
    return JSON.stringify(checkpoints.length === page.checkpoints.length ? page : { checkpoints, has_more: false });
  },
});

interface CheckpointPage {
  readonly checkpoints: readonly { readonly checkpoint_id: string }[];
}

/** A checkpoint; an older one is absent. */
export const getShown = (row: DescribedEndpoint): DescribedEndpoint => ({
  ...row,
  handle: async (request, services) => {
    const { checkpoint_id: id } = request.params as InPath;
    const { from } = await shownHistory(request, services);
    // The name of what stood before a checkpoint is no number.
    if (!(Number(id) >= from)) throw notFound(`checkpoint "${id ?? ''}" is older than the last change of the owner`);
    return row.handle(request, services);
  },
});

/** The result of a run; of an older one how it ended. */
export const waitForShown = (row: DescribedEndpoint): DescribedEndpoint => ({
  ...row,
  handle: async (request, services) => {
    const reply = await row.handle(request, services);
    const { run_id: runId = '' } = request.params as InPath;
    if ((await shownHistory(request, services)).runs.has(runId)) return reply;
    const { iterations, recursion_limit_reached, metadata, meta } = JSON.parse(textOf(reply)) as Record<
      string,
      unknown
    >;
    return JSON.stringify({ messages: [], all_messages: [], iterations, recursion_limit_reached, metadata, meta });
  },
});

/** The events of a run; those of an older one are absent. */
export const streamShown = (row: DescribedEndpoint): DescribedEndpoint => ({
  ...row,
  handle: async (request, services) => {
    const { run_id: runId = '' } = request.params as InPath;
    const run = await services.threads.getRun({ owner: request.owner, runId }, request.call());
    if (run.end && !(await shownHistory(request, services)).runs.has(runId))
      throw notFound(`the events of run "${runId}" are older than the last change of the owner`);
    return row.handle(request, services);
  },
});

/** The text of a reply that is JSON. */
const textOf = (reply: Awaited<ReturnType<DescribedEndpoint['handle']>>): string =>
  typeof reply === 'string' ? reply : jsonText(Buffer.concat((reply as JsonParts).json));

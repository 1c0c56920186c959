import { getAgent } from './agents/get.ts';
import { listAgents } from './agents/list.ts';
import { retireRevision } from './agents/retire.ts';
import { setAgentRouting } from './agents/set-routing.ts';
import { getCheckpoint } from './checkpoints/get.ts';
import { listCheckpoints } from './checkpoints/list.ts';
import type { DescribedEndpoint } from './common/endpoint.ts';
import { deleteFile } from './files/delete.ts';
import { getFile } from './files/get.ts';
import { getFileInfo } from './files/info.ts';
import { getMultimodalConfig } from './files/multimodal.ts';
import { uploadFile } from './files/upload.ts';
import { getFileUrl } from './files/url.ts';
import { fixThread } from './graph/fix.ts';
import { getGraph } from './graph/get.ts';
import { invokeGraph } from './graph/invoke.ts';
import { setUpTools } from './graph/setup.ts';
import { getStateSchema } from './graph/state-schema.ts';
import { stopThread } from './graph/stop.ts';
import { streamGraph } from './graph/stream.ts';
import { healthz } from './health/healthz.ts';
import { openApi } from './health/openapi.ts';
import { ping } from './health/ping.ts';
import { readyz } from './health/readyz.ts';
// The folder `memories/` serves the paths `/v1/store`: the resource is `store` there, in authorization and in the rows.
import { deleteMemory } from './memories/delete.ts';
import { forgetMemories } from './memories/forget.ts';
import { getMemory } from './memories/get.ts';
import { listMemories } from './memories/list.ts';
import { searchMemories } from './memories/search.ts';
import { storeMemory } from './memories/store.ts';
import { updateMemory } from './memories/update.ts';
import { addMessages } from './messages/add.ts';
import { deleteMessage } from './messages/delete.ts';
import { getMessage } from './messages/get.ts';
import { listMessages } from './messages/list.ts';
import { cancelRun } from './runs/cancel.ts';
import { createRun } from './runs/create.ts';
import { getRun } from './runs/get.ts';
import { listOwnRuns } from './runs/list-own.ts';
import { listRuns } from './runs/list.ts';
import { streamRun } from './runs/stream.ts';
import { makeRunTicket } from './runs/ticket.ts';
import { waitForRun } from './runs/wait.ts';
import { clearState } from './state/clear.ts';
import { getState } from './state/get.ts';
import { updateState } from './state/update.ts';
import { deleteThread } from './threads/delete.ts';
import { forkThread } from './threads/fork.ts';
import { getThread } from './threads/get.ts';
import { listThreads } from './threads/list.ts';

/**
 * All endpoints. The router, authorization, validation and the OpenAPI document are made from these rows, so that each of them
 * has exactly the same endpoints. The document lists them in this order.
 */
export const endpoints: readonly DescribedEndpoint[] = [
  ...[ping, healthz, readyz, openApi],
  ...[listAgents, getAgent, setAgentRouting, retireRevision],
  ...[getGraph, getStateSchema, invokeGraph, streamGraph, stopThread, setUpTools, fixThread],
  ...[createRun, listOwnRuns, getRun, waitForRun, streamRun, makeRunTicket, cancelRun, listRuns],
  ...[listThreads, getThread, deleteThread, getState, updateState, clearState],
  ...[listCheckpoints, getCheckpoint, forkThread],
  ...[listMessages, getMessage, addMessages, deleteMessage],
  ...[uploadFile, getFile, getFileInfo, getFileUrl, deleteFile, getMultimodalConfig],
  ...[storeMemory, searchMemories, listMemories, forgetMemories, getMemory, updateMemory, deleteMemory],
];

import {
  cancelRunOfOthers,
  exportAudit,
  getRunOfOthers,
  getStateOfOthers,
  getThreadOfOthers,
  getTraceOfOthers,
  listAllQuestions,
  listAllRuns,
  listAllThreads,
  listMessagesOfOthers,
  listRunsOfOthersThread,
  listStepsOfOthers,
  retryRunOfOthers,
  streamRunOfOthers,
} from './admin.ts';
import { getAgent, listAgents, retireRevision, setAgentRouting } from './agents.ts';
import { getCheckpoint, listCheckpoints } from './checkpoints.ts';
import {
  createAssistant,
  deleteAssistant,
  getAssistant,
  getAssistantVersion,
  listAssistants,
  listAssistantVersions,
  setAssistantVersion,
  updateAssistant,
} from './assistants.ts';
import type { DescribedEndpoint } from './common/endpoint.ts';
import { deleteFile, getFile, getFileInfo, getMultimodalConfig, listFiles, uploadFile, getFileUrl } from './files.ts';
import { fixThread, getGraph, invokeGraph, setUpTools, getStateSchema, stopThread, streamGraph } from './graph.ts';
import { healthz, openApi, ping, readyz } from './health.ts';
import {
  deleteMemory,
  forgetMemories,
  getMemory,
  listMemories,
  searchMemories,
  storeMemories,
  storeMemory,
  updateMemory,
} from './memories.ts';
import { countThreads, listInbox, searchThreads } from './found-threads.ts';
import { countRuns, listOwnRuns } from './found-runs.ts';
import { addMessages, deleteMessage, getMessage, listMessages } from './messages.ts';
import {
  cancelRun,
  createRun,
  createRuns,
  getRun,
  getRunChain,
  listRuns,
  streamRun,
  makeRunTicket,
  retryRun,
  waitForRun,
} from './runs.ts';
import {
  backfillSchedule,
  createSchedule,
  deleteSchedule,
  getSchedule,
  listSchedules,
  pauseSchedule,
  resumeSchedule,
  runSchedule,
  updateSchedule,
} from './schedules.ts';
import { createShare, deleteShare, getSharedShare, listSharedWithMe, listShares, sharedRows } from './shares.ts';
import { clearState, getState, updateState } from './state.ts';
import { answerQuestion, listQuestions } from './questions.ts';
import { getMe } from './me.ts';
import { getRunStep, listRunSteps } from './steps.ts';
import { getRunTrace } from './trace.ts';
import {
  createTrigger,
  deleteTrigger,
  getTrigger,
  listTriggers,
  receiveEvent,
  rotateTriggerSecret,
  updateTrigger,
} from './triggers.ts';
import {
  deleteThread,
  forkThread,
  getThread,
  listThreads,
  pruneThread,
  restoreThread,
  updateThread,
} from './threads.ts';
import {
  createWebhook,
  deleteDelivery,
  deleteWebhook,
  getWebhook,
  getWebhookSecret,
  listDeliveries,
  listWebhooks,
  resendDelivery,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './webhooks.ts';

/**
 * All endpoints. The router, authorization, validation and the OpenAPI document are made from these rows, so that each of them
 * has exactly the same endpoints. The document lists them in this order.
 */
export const endpoints: readonly DescribedEndpoint[] = [
  ...[ping, getMe, healthz, readyz, openApi],
  ...[listAgents, getAgent, setAgentRouting, retireRevision],
  ...[createAssistant, listAssistants, getAssistant, updateAssistant, deleteAssistant],
  ...[listAssistantVersions, getAssistantVersion, setAssistantVersion],
  ...[getGraph, getStateSchema, invokeGraph, streamGraph, stopThread, setUpTools, fixThread],
  ...[
    createRun,
    createRuns,
    listOwnRuns,
    countRuns,
    getRun,
    getRunChain,
    waitForRun,
    streamRun,
    makeRunTicket,
    cancelRun,
    retryRun,
    listRuns,
  ],
  ...[listRunSteps, getRunStep, getRunTrace],
  ...[createTrigger, listTriggers, getTrigger, updateTrigger, rotateTriggerSecret, deleteTrigger, receiveEvent],
  ...[createSchedule, listSchedules, getSchedule, updateSchedule, deleteSchedule],
  ...[pauseSchedule, resumeSchedule, runSchedule, backfillSchedule],
  ...[listThreads, searchThreads, countThreads, listInbox],
  ...[listQuestions, answerQuestion],
  ...[getThread, updateThread, deleteThread, getState, updateState, clearState],
  ...[listCheckpoints, getCheckpoint, forkThread, restoreThread, pruneThread],
  ...[listMessages, getMessage, addMessages, deleteMessage],
  ...[createShare, listShares, deleteShare, listSharedWithMe, getSharedShare, ...sharedRows],
  ...[createWebhook, listWebhooks, getWebhook, updateWebhook, deleteWebhook],
  ...[getWebhookSecret, rotateWebhookSecret, testWebhook, listDeliveries, resendDelivery, deleteDelivery],
  ...[uploadFile, listFiles, getFile, getFileInfo, getFileUrl, deleteFile, getMultimodalConfig],
  ...[storeMemory, storeMemories, searchMemories, listMemories, forgetMemories, getMemory, updateMemory, deleteMemory],
  ...[listAllRuns, getRunOfOthers, getTraceOfOthers, listStepsOfOthers, streamRunOfOthers],
  ...[cancelRunOfOthers, retryRunOfOthers],
  ...[listAllThreads, getThreadOfOthers, listRunsOfOthersThread, getStateOfOthers, listMessagesOfOthers],
  ...[listAllQuestions, exportAudit],
];

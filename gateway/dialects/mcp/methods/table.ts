import { callTool, listTools } from './calls.ts';
import { complete } from './complete.ts';
import { discover, initialize, ping, setLevel } from './discover.ts';
import type { Method } from './method.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { listResources, listTemplates, readResource, subscribe } from './resources.ts';
import { cancelTask, getTask, updateTask } from './tasks.ts';

/** The methods of every version. */
const methods: Readonly<Record<string, Method>> = {
  'tools/list': listTools,
  'tools/call': callTool,
  'resources/list': listResources,
  'resources/templates/list': listTemplates,
  'resources/read': readResource,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'completion/complete': complete,
};

/** Those of the version without a handshake. */
export const modernMethods: Readonly<Record<string, Method>> = {
  ...methods,
  'server/discover': discover,
  'tasks/get': getTask,
  'tasks/update': updateTask,
  'tasks/cancel': cancelTask,
};

/** Those of the versions with one. */
export const handshakeMethods: Readonly<Record<string, Method>> = {
  ...methods,
  initialize,
  ping,
  'logging/setLevel': setLevel,
  'resources/subscribe': subscribe,
  'resources/unsubscribe': subscribe,
};

import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { isOpen } from '@agent-workflow/protos/lists';
import { pushBounds, readPushes, toPushesJson, type PushConfig } from '@agent-workflow/protos/task-pushes';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { changeInTurn } from '../../../upstream/change-in-turn.ts';
import { webhookUrlOf } from '../../common/run-webhook.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { a2aError } from '../replies/reasons.ts';
import { TaskParams } from '../schemas/common.ts';
import { CreatePush, ListPushes, OfTenant, PushParams } from '../schemas/pushes.ts';
import { runsOfTask } from './read-task.ts';

type Requested = Pick<EndpointRequest, 'owner' | 'call' | 'newId'>;
type Calls = Pick<Services, 'threads' | 'execution'>;

/** The address of a request as it is kept. @throws Invalid for one that nothing can be sent to */
export async function toConfig(
  { call, newId }: Pick<Requested, 'call' | 'newId'>,
  given: CreatePush,
  loc: Loc,
  { execution }: Pick<Services, 'execution'>,
): Promise<PushConfig> {
  const { id = '', token = '', authentication } = given;
  checkHeaderText(token, [...loc, 'token']);
  checkHeaderText(authentication?.credentials ?? '', [...loc, 'authentication', 'credentials']);
  const url = webhookUrlOf(given.url, [...loc, 'url']);
  await execution.checkTools({ tools: [], webhookJson: JSON.stringify({ url }) }, call()).catch((error: unknown) => {
    const [detail] = isServiceError(error, 'Invalid') ? error.details : [];
    throw detail ? invalidAt([...loc, 'url'], detail.msg, detail.type) : error;
  });
  return {
    ...{ id: id === '' ? newId('push') : id, url },
    ...(token !== '' && { token }),
    ...(authentication && {
      authentication: {
        scheme: authentication.scheme,
        ...(authentication.credentials !== undefined && { credentials: authentication.credentials }),
      },
    }),
  };
}

/** @throws Invalid for what no header may hold */
function checkHeaderText(text: string, loc: Loc): void {
  if (!/^[\x20-\x7e]*$/.test(text)) throw invalidAt(loc, 'must be visible ASCII characters and spaces');
}

/** Changes the addresses of a task. @returns what `change` gives of them */
export async function changePushes(
  { owner, call }: Pick<Requested, 'owner' | 'call'>,
  taskId: string,
  change: (configs: readonly PushConfig[]) => readonly PushConfig[],
  { threads }: Pick<Calls, 'threads'>,
): Promise<readonly PushConfig[]> {
  const key = { kind: 'push', owner, id: taskId } as const;
  return changeInTurn(key, async () => {
    const found = await undefinedIfNotFound(threads.getResource(key, call()));
    const before = found ? readPushes(found.json).configs : [];
    const configs = change(before);
    if (configs === before) return configs;
    const version = (found?.version ?? 0) + 1;
    const json = toPushesJson({ configs });
    try {
      await threads.putResource({ ...key, version, json, dueAt: Date.now() + pushBounds.keptMs }, call());
      return configs;
    } catch (error) {
      if (isServiceError(error, 'Conflict')) return undefined;
      throw error;
    }
  });
}

/** Adds an address to those of a task, or puts it in the place of the one with its id. @throws Invalid beyond their number */
export const withConfig =
  (config: PushConfig, loc: Loc) =>
  (configs: readonly PushConfig[]): readonly PushConfig[] => {
    const others = configs.filter(({ id }) => id !== config.id);
    if (others.length >= pushBounds.configs)
      throw invalidAt(loc, `is one more than the ${String(pushBounds.configs)} that a task may have`, 'too_long');
    return [...others, config];
  };

const shown = (config: PushConfig, taskId: string): object => ({ ...config, taskId });

const noConfig = (id: string) => a2aError('TASK_NOT_FOUND', `the task has no push notification config "${id}"`);

interface Named {
  readonly agent: string;
  readonly run_id: string;
}

/** Refuses what is no task of the agent. @throws TaskNotFound */
const requireTask = async (request: EndpointRequest<Named>, services: Calls): Promise<string> => {
  const { agent, run_id: taskId } = request.params;
  await runsOfTask(request, { taskId, agent }, services);
  return taskId;
};

const readConfigs = async (request: EndpointRequest<Named>, services: Calls): Promise<readonly PushConfig[]> => {
  const taskId = await requireTask(request, services);
  const key = { kind: 'push', owner: request.owner, id: taskId } as const;
  const found = await undefinedIfNotFound(services.threads.getResource(key, request.call()));
  return found ? readPushes(found.json).configs : [];
};

const path = '/a2a/{agent}/tasks/{run_id}/pushNotificationConfigs';

const createPush = endpoint({
  name: 'a2aCreatePush',
  method: 'POST',
  path,
  access: { resource: 'webhooks', action: 'write' },
  params: TaskParams,
  input: CreatePush,
  handle: async (request, services) => {
    const taskId = await requireTask(request, services);
    const { taskId: given = '' } = request.input;
    if (given !== '' && given !== taskId) throw invalidAt(['body', 'taskId'], 'must be that of the path, or absent');
    const config = await toConfig(request, request.input, ['body'], services);
    await changePushes(request, taskId, withConfig(config, ['body']), services);
    await refuseEnded(request, config, services);
    return JSON.stringify(shown(config, taskId));
  },
});

/** Takes an address back whose task has ended: nothing would be sent to it. One that ends later gets its end. @throws UnsupportedOperation */
async function refuseEnded(request: EndpointRequest<Named>, { id }: PushConfig, services: Calls): Promise<void> {
  const { agent, run_id: taskId } = request.params;
  const { status } = (await runsOfTask(request, { taskId, agent }, services)).at(-1) ?? {};
  if (status === undefined || isOpen(status) || status === 'interrupted') return;
  await changePushes(request, taskId, without(id), services);
  throw a2aError('UNSUPPORTED_OPERATION', `task "${taskId}" has ended: read it`);
}

const without =
  (id: string) =>
  (configs: readonly PushConfig[]): readonly PushConfig[] => {
    const others = configs.filter((config) => config.id !== id);
    return others.length === configs.length ? configs : others;
  };

const getPush = endpoint({
  name: 'a2aGetPush',
  method: 'GET',
  path: `${path}/{config}`,
  access: { resource: 'webhooks', action: 'read' },
  params: PushParams,
  input: OfTenant,
  handle: async (request, services) => {
    const { run_id: taskId, config: id } = request.params;
    const config = (await readConfigs(request, services)).find((each) => each.id === id);
    if (!config) throw noConfig(id);
    return JSON.stringify(shown(config, taskId));
  },
});

const listPushes = endpoint({
  name: 'a2aListPushes',
  method: 'GET',
  path,
  access: { resource: 'webhooks', action: 'read' },
  params: TaskParams,
  input: ListPushes,
  handle: async (request, services) => {
    const configs = await readConfigs(request, services);
    return JSON.stringify({ configs: configs.map((each) => shown(each, request.params.run_id)), nextPageToken: '' });
  },
});

const deletePush = endpoint({
  name: 'a2aDeletePush',
  method: 'DELETE',
  path: `${path}/{config}`,
  access: { resource: 'webhooks', action: 'delete' },
  params: PushParams,
  input: OfTenant,
  handle: async (request, services) => {
    const taskId = await requireTask(request, services);
    const { config } = request.params;
    await changePushes(request, taskId, without(config), services);
    return '{}';
  },
});

export const pushRows = [createPush, getPush, listPushes, deletePush];

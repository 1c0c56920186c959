import { OkQuery } from '../schemas/system.ts';
import { row } from './row.ts';

/** The version of LangGraph Server whose API this is. */
const apiVersion = '0.16.7';

const getOk = row({
  name: 'lgOk',
  method: 'GET',
  path: '/langgraph/ok',
  access: 'every caller',
  input: OkQuery,
  handle: async ({ input }, { readiness }) => {
    if (input.check_db === '1' || input.check_db === 'true') await readiness.check();
    return '{"ok":true,"services":{}}';
  },
});

const getInfo = row({
  name: 'lgInfo',
  method: 'GET',
  path: '/langgraph/info',
  access: 'every caller',
  handle: () =>
    JSON.stringify({
      version: apiVersion,
      flags: {
        assistants: true,
        crons: true,
        langsmith: false,
        langsmith_tracing_replicas: false,
        langsmith_tracing_session_on_runs: false,
      },
      host: { kind: 'self-hosted', project_id: null, host_revision_id: null, revision_id: null, tenant_id: null },
    }),
});

/** What the operations take, for generators of clients. */
const getOpenApi = row({
  name: 'lgOpenApi',
  method: 'GET',
  path: '/langgraph/openapi.json',
  access: 'every caller',
  handle: (_request, services) => services.openApi(),
});

export const systemRows = [getOk, getInfo, getOpenApi];

import { handshakeVersions, metaNames, supportedVersions, tasksExtension, toSession } from '../wire/client.ts';
import { fieldsOf, textIn, type Fields } from '../wire/fields.ts';
import { cached } from '../wire/reply.ts';
import { invalidParams } from '../wire/rpc-error.ts';
import { logLevels } from '../calls/notifications.ts';
import type { Method } from './method.ts';

const server = { name: 'agent-workflow', title: 'Agent Workflow Service', version: '1' };

const instructions =
  'Each tool is an agent, or is offered by one. A call may take long; what it says continues in the thread that its result names.';

const features = { tools: {}, prompts: {}, completions: {} };

/** Answers the handshake. What the client declares comes back with each of its requests, as the id of its session. */
export const initialize: Method = ({ request, params }) => {
  const asked = textIn(params['protocolVersion']);
  if (asked === undefined) throw invalidParams('protocolVersion is required');
  const known = handshakeVersions.includes(asked) ? asked : handshakeVersions[0];
  request.addReplyHeaders({ 'Mcp-Session-Id': toSession(fieldsOf(params['capabilities'])) });
  return Promise.resolve<Fields>({
    protocolVersion: known,
    capabilities: { ...features, resources: {}, logging: {} },
    serverInfo: server,
    instructions,
  });
};

export const discover: Method = ({ client }) =>
  Promise.resolve(
    cached(
      {
        supportedVersions,
        capabilities: { ...features, resources: {}, extensions: { [tasksExtension]: {} } },
        instructions,
        _meta: { [metaNames.server]: server },
      },
      client,
    ),
  );

export const ping: Method = () => Promise.resolve({});

/** Takes a level and keeps none, because no replica keeps sessions: nodes say what they log. @throws RpcError for what is no level */
export const setLevel: Method = ({ params }) => {
  if (!logLevels.includes(textIn(params['level']) ?? ''))
    throw invalidParams(`level must be one of ${logLevels.join(', ')}`);
  return Promise.resolve({});
};

import type { Agent } from '@agent-workflow/protos/execution';
import { jsonText } from '../../../http/json.ts';

interface CardOptions {
  readonly agent: Agent;
  /** Where the agent is reached: both bindings have this address. */
  readonly url: string;
  /** Whether callers authenticate. */
  readonly secured: boolean;
  /** Whether the tools of the agent are listed: only for callers who may use it. */
  readonly isExtended: boolean;
}

interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly remote?: boolean;
}

const protocolVersion = '1.0';

/** What an agent says of itself: `AgentCard` of A2A. */
export function toCard({ agent, url, secured, isExtended }: CardOptions): object {
  const { name, description = `The agent ${name}` } = agent;
  return {
    ...{ name, description, version: protocolVersion },
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion })),
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    ...(secured && {
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    }),
    defaultInputModes: ['text/plain', 'application/json', 'application/octet-stream'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [
      { id: name, name, description, tags: ['agent'] },
      ...(isExtended ? toolsOf(agent).map((tool) => toSkill(name, tool)) : []),
    ],
  };
}

/** The tools that the agent runs by itself. */
const toolsOf = ({ toolsJson }: Agent): readonly Tool[] =>
  (JSON.parse(jsonText(toolsJson)) as readonly Tool[]).filter(({ remote }) => remote !== true);

const toSkill = (agent: string, { name, description = name }: Tool): object => ({
  ...{ id: `${agent}.${name}`, name, description: description === '' ? name : description, tags: ['tool'] },
});

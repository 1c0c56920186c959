import type { AgentRecords, DefinitionKey } from '../../ports/agents.ts';
import { fromAgent, fromDefinition, toAgent, toDefinition, toRoutings } from '../../record/agent-rows.ts';
import type { Session } from './client.ts';

/** The registered agents, a row each, and their definitions. */
export const createAgentRecords = ({ query, transaction }: Session): AgentRecords => ({
  getAgent: async (name) => {
    const [row] = await query('SELECT * FROM agents WHERE name = $1', [name]);
    return row && toAgent(row);
  },

  listAgents: async () => (await query('SELECT * FROM agents ORDER BY name')).map(toAgent),

  listRoutings: async () => toRoutings(await query('SELECT name, routing FROM agents')),

  putAgent: (agent) => {
    const { name, changes, routing, rest } = fromAgent(agent);
    return transaction(async ({ write }) => {
      const written = await (changes === 1
        ? write('INSERT INTO agents (name, changes, routing, rest) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
            ...[name, changes, routing, rest],
          ])
        : write('UPDATE agents SET changes = $2, routing = $3, rest = $4 WHERE name = $1 AND changes = $5', [
            ...[name, changes, routing, rest, changes - 1],
          ]));
      return { isWritten: written === 1, reply: written === 1 };
    });
  },

  getDefinition: async (key) => {
    const [row] = await query(`SELECT graph, fields, tools, nodes FROM agent_definitions ${ofKey}`, valuesOf(key));
    return row && toDefinition(row);
  },

  putDefinition: async (key, definition) => {
    await query(
      `INSERT INTO agent_definitions (agent, revision, schema_hash, graph, fields, tools, nodes)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
      [...valuesOf(key), ...fromDefinition(definition)],
    );
  },

  dropDefinition: async (key) => {
    await query(`DELETE FROM agent_definitions ${ofKey}`, valuesOf(key));
  },
});

const ofKey = 'WHERE agent = $1 AND revision = $2 AND schema_hash = $3';
const valuesOf = ({ agent, revision, schemaHash }: DefinitionKey): [string, string, string] => [
  agent,
  revision,
  schemaHash,
];

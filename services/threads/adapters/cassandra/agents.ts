import type { AgentRecords, DefinitionKey } from '../../ports/agents.ts';
import { fromAgent, fromDefinition, toAgent, toDefinition, toRoutings } from '../../record/agent-rows.ts';
import type { Session } from './client/client.ts';
import { long, toBlob } from './rows/rows.ts';

/** All agents are in one partition: there are few, and they are listed together. */
const registry = 0;

const ofAgent = 'WHERE registry = ? AND name = ?';
const columns = 'name, changes, routing, rest';
const insertAgent = `INSERT INTO agent (registry, ${columns}) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS`;
const updateAgent = `UPDATE agent SET changes = ?, routing = ?, rest = ? ${ofAgent} IF changes = ?`;
const ofDefinition = 'WHERE agent = ? AND revision = ? AND schema_hash = ?';

/** The registered agents. A row of `agent` is written by conditional writes only. */
export const createAgentRecords = (session: Session): AgentRecords => ({
  // A conditional write whose answer was lost may be half done: what reads a row to change it completes such a write first.
  getAgent: async (name) => {
    const params = [registry, name];
    const [row] = await session.readSerial({ cql: `SELECT ${columns} FROM agent ${ofAgent}`, params });
    return row && toAgent(row);
  },

  listAgents: async () =>
    (await session.read({ cql: `SELECT ${columns} FROM agent WHERE registry = ?`, params: [registry] })).map(toAgent),

  listRoutings: async () =>
    toRoutings(await session.read({ cql: 'SELECT name, routing FROM agent WHERE registry = ?', params: [registry] })),

  putAgent: async (agent) => {
    const { name, changes, routing, rest } = fromAgent(agent);
    const { isApplied } = await session.writeIf(
      changes === 1
        ? { cql: insertAgent, params: [registry, name, long(changes), routing, rest] }
        : { cql: updateAgent, params: [long(changes), routing, rest, registry, name, long(changes - 1)] },
    );
    return isApplied;
  },

  getDefinition: async (key) => {
    const cql = `SELECT graph, fields, tools, nodes FROM agent_definition ${ofDefinition}`;
    const [row] = await session.read({ cql, params: valuesOf(key) });
    return row && toDefinition(row);
  },

  putDefinition: async (key, definition) => {
    const [graph, fields, tools, nodes] = fromDefinition(definition);
    await session.write({
      cql: `INSERT INTO agent_definition (agent, revision, schema_hash, graph, fields, tools, nodes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      params: [...valuesOf(key), toBlob(graph), toBlob(fields), toBlob(tools), nodes],
    });
  },

  dropDefinition: async (key) =>
    session.write({ cql: `DELETE FROM agent_definition ${ofDefinition}`, params: valuesOf(key) }),
});

const valuesOf = ({ agent, revision, schemaHash }: DefinitionKey): readonly string[] => [agent, revision, schemaHash];

import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { AgentRecords, AgentRow, DefinitionKey } from '../../ports/agents.ts';
import { fromAgent, fromDefinition, toAgent, toDefinition, toRoutings } from '../../record/agent-rows.ts';

/** The registered agents, a row each, and their definitions. */
export const createAgentRecords = (db: Sqlite): AgentRecords => ({
  getAgent: async (name) => {
    const row = db.prepare('SELECT * FROM agents WHERE name = ?').get(name);
    return Promise.resolve(row && toAgent(row));
  },

  listAgents: () => Promise.resolve(db.prepare('SELECT * FROM agents ORDER BY name').all().map(toAgent)),

  listRoutings: () => Promise.resolve(toRoutings(db.prepare('SELECT name, routing FROM agents').all())),

  putAgent: (row) => db.write(() => putAgent(db, row)),

  getDefinition: async (key) => {
    const row = db.prepare(`SELECT graph, fields, tools, nodes FROM agent_definitions ${ofKey}`).get(...valuesOf(key));
    return Promise.resolve(row && toDefinition(row));
  },

  putDefinition: (key, definition) =>
    db.write(() => {
      db.prepare('INSERT INTO agent_definitions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING').run(
        ...valuesOf(key),
        ...fromDefinition(definition),
      );
    }),

  dropDefinition: (key) =>
    db.write(() => {
      db.prepare(`DELETE FROM agent_definitions ${ofKey}`).run(...valuesOf(key));
    }),
});

const ofKey = 'WHERE agent = ? AND revision = ? AND schema_hash = ?';
const valuesOf = ({ agent, revision, schemaHash }: DefinitionKey): [string, string, string] => [
  agent,
  revision,
  schemaHash,
];

function putAgent(db: Sqlite, row: AgentRow): boolean {
  const { name, changes, routing, rest } = fromAgent(row);
  const written =
    changes === 1
      ? db
          .prepare('INSERT INTO agents (name, changes, routing, rest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING')
          .run(name, changes, routing, rest)
      : db
          .prepare('UPDATE agents SET changes = ?, routing = ?, rest = ? WHERE name = ? AND changes = ?')
          .run(changes, routing, rest, name, changes - 1);
  return written.changes === 1;
}

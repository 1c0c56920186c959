import test from 'ava';
import { agentTool } from './agent-tool.ts';

test('fields that callers only read are no arguments', (t) => {
  const own = { type: 'string' };
  const set = { type: 'boolean', callers: 'read' };
  const inputOf = (fields: object) =>
    agentTool({ name: 'a', description: undefined, fields: { ...fields } }).shown['inputSchema'];
  t.like(inputOf({ own, set }), { properties: { state: { properties: { own, set: undefined } } } });
  t.like(inputOf({ set }), { properties: { state: undefined } });
});

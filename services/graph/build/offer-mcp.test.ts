import test from 'ava';
import { END, START, StateGraph, offerMcp } from '../index.ts';

const graph = new StateGraph({})
  .addNode('a', () => ({}))
  .addEdge(START, 'a')
  .addEdge('a', END)
  .compile();
const inputSchema = { type: 'object' };

test('what a graph offers stands in its drawing, which is what is registered of it', (t) => {
  const offer = { tools: [{ name: 'look', inputSchema }], resources: [{ uri: 'a://b', name: 'b' }] };
  t.is(offerMcp(graph, offer).drawing.mcp, offer);
  t.is(graph.drawing.mcp, undefined);
});

test('what has no name, or that of another, is refused, and a schema of no object', (t) => {
  const tool = { name: 'look', inputSchema };
  const refused = (offer: Parameters<typeof offerMcp>[1], message: string): void => {
    t.throws(() => offerMcp(graph, offer), { message });
  };
  refused({ tools: [tool, tool] }, 'there are two MCP tools named "look"');
  refused({ prompts: [{ name: '' }] }, 'an MCP prompt has no name');
  refused({ resources: [{ uri: '', name: 'a' }] }, 'an MCP resource has no name');
  const schema = { inputSchema: { type: 'string' } };
  refused(
    { tools: [{ name: 'look', ...schema }] },
    'the inputSchema of the MCP tool "look" must be a JSON Schema of type object',
  );
  const outside = { $defs: { place: { type: 'object', properties: { at: { $ref: 'http://example.com/x.json' } } } } };
  refused(
    { tools: [{ name: 'look', inputSchema: { ...inputSchema, ...outside } }] },
    'the inputSchema of the MCP tool "look" refers to "http://example.com/x.json": clients load nothing from outside',
  );
  const inside = {
    ...inputSchema,
    properties: { at: { $ref: '#/$defs/place' } },
    $defs: { place: { type: 'string' } },
  };
  t.notThrows(() => offerMcp(graph, { tools: [{ name: 'look', inputSchema: inside }] }));
});

import test from 'ava';
import fc from 'fast-check';
import type { StartRequest } from '@agent-workflow/protos/execution';
import { fromOptionsJson, toOptionsJson } from './run-options.ts';

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const object = fc.dictionary(fc.string(), fc.jsonValue());
const tool = fc.record({ nodeName: fc.string(), name: fc.string(), description: fc.string(), parameters: object });

/** Also texts that JSON writes in another way than they read, as lone surrogates and `__proto__` are. */
const given = fc.record(
  {
    config: object,
    context: object,
    user: object,
    initialState: object,
    resume: fc.jsonValue(),
    kept: object,
    tools: fc.array(tool, { maxLength: 3 }),
    recursionLimit: fc.nat(),
  },
  { requiredKeys: ['tools', 'recursionLimit'] },
);

test('what a run is started with is read from its record as it was given, parts that were not given as empty', (t) => {
  fc.assert(
    fc.property(
      given,
      fc.boolean(),
      ({ config, context, user, initialState, resume, kept, tools, recursionLimit }, isAccepted) => {
        const request = {
          ...(config && { configJson: bytes(config) }),
          ...(context && { contextJson: bytes(context) }),
          ...(user && { userJson: bytes(user) }),
          ...(initialState && { initialStateJson: bytes(initialState) }),
          ...(resume !== undefined && { resumeJson: bytes(resume) }),
          ...(kept && { requestJson: bytes(kept) }),
          tools: tools.map(({ parameters, ...rest }) => ({ ...rest, parametersJson: bytes(parameters) })),
          recursionLimit,
        } as Partial<StartRequest> as StartRequest;
        const accepted = { at: 5, traceparent: 'trace' };
        const read = fromOptionsJson(toOptionsJson(request, isAccepted ? { accepted } : {}));
        const expected = {
          config: config ?? {},
          ...(context && { context }),
          user: user ?? {},
          initialState: initialState ?? {},
          ...(resume !== undefined && { resume }),
          ...(kept && { request: kept }),
          tools: tools.map(({ nodeName: node, name, description, parameters }) => ({
            node,
            name,
            description,
            parameters,
          })),
          recursionLimit,
          ...(isAccepted && { accepted }),
        };
        t.deepEqual(read, JSON.parse(JSON.stringify(expected)) as typeof read);
      },
    ),
  );
});

test('an initial state whose messages were taken from it is kept without them', (t) => {
  const request = { initialStateJson: bytes({ context: [], a: 1 }), tools: [], recursionLimit: 5 };
  const parts = { initialState: { a: 1 } };
  const read = fromOptionsJson(toOptionsJson(request as Partial<StartRequest> as StartRequest, parts));
  t.deepEqual(read.initialState, { a: 1 });
});

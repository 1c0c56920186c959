import type { ExecutionContext, TestFn } from 'ava';
import { errorCodes, isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import type { Memory } from '@agent-workflow/protos/memory';
import { callsOf, type MemoryCalls } from './calls.ts';

/** Gives an empty memory of its own each time. */
export type Opener = () => Promise<AsyncDisposable & { readonly memory: Memory }>;

type Body = (t: ExecutionContext, memory: Memory, calls: MemoryCalls) => Promise<void>;

/** Makes tests that each have a memory of their own. */
export function checksOf(test: TestFn, name: string, open: Opener) {
  const withMemory = (title: string, body: Body): void => {
    test(`${name}: ${title}`, async (t) => {
      await using opened = await open();
      await body(t, opened.memory, callsOf(opened.memory));
    });
  };
  return { withMemory };
}

export async function refuses(
  t: ExecutionContext,
  work: Promise<unknown>,
  code: ErrorCode,
  loc?: readonly (string | number)[],
) {
  const error = await t.throwsAsync(work);
  if (!isServiceError(error)) return t.fail(`not one of ${errorCodes.join(', ')}: ${String(error)}`);
  t.is(error.code, code);
  if (loc) t.deepEqual(error.details[0]?.field, loc);
  return undefined;
}

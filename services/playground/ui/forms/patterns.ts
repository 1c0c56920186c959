import { evaluate } from '../evaluation.ts';
import type { FormFaults, FormModel, FormTexts } from './schema-form.ts';

/** How long a text is compared with a pattern, in milliseconds. */
const patternMs = 2000;

/**
 * The fields whose texts do not match their patterns. A pattern may take exponential time, so that it is tried in a worker; a text that
 * cannot be judged in time, or whose pattern is no regular expression, is left to the agent.
 */
export async function patternFaults({ fields }: FormModel, texts: FormTexts): Promise<FormFaults> {
  const faults = await Promise.all(
    fields.map(async ({ name, kind, isRequired, pattern }) => {
      const text = texts[name] ?? '';
      if (pattern === undefined || kind !== 'text' || (text === '' && !isRequired)) return [];
      return (await matches(text, pattern)) ? [] : [[name, `must match the pattern ${pattern}`] as const];
    }),
  );
  return Object.fromEntries(faults.flat());
}

async function matches(text: string, pattern: string): Promise<boolean> {
  const given = [pattern, text].map((each) => JSON.stringify(each)).join();
  const found = await evaluate(`(${tried})(${given})`, { timeoutMs: patternMs }).catch(() => true);
  return found !== false;
}

/** JSON Schema reads patterns as Unicode; authors also write what only the older reading takes. */
const tried = `(pattern, text) => {
  let compiled;
  try {
    compiled = new RegExp(pattern, 'u');
  } catch {
    compiled = new RegExp(pattern);
  }
  return compiled.test(text);
}`;

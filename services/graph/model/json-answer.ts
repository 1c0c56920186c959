/**
 * Reads the JSON of an answer. Models write it bare, in a code fence, behind what they thought, and with words around it.
 * @throws SyntaxError for an answer without JSON, or with more than one value.
 */
export function readJsonAnswer(answer: string): unknown {
  const thought = answer.lastIndexOf(thoughtEnd);
  const text = thought === -1 ? answer : answer.slice(thought + thoughtEnd.length);
  for (const candidate of [answer.trim(), fenced(text), braced(text)]) {
    try {
      if (candidate !== undefined) return JSON.parse(candidate);
    } catch {
      // The next candidate is tried.
    }
  }
  throw new SyntaxError('the answer holds no JSON');
}

const thoughtEnd = '</think>';
const fence = '```';

/** What stands between the first code fence and the last one, or the end. */
function fenced(text: string): string | undefined {
  const line = text.indexOf('\n', text.indexOf(fence));
  if (!text.includes(fence) || line === -1) return undefined;
  const end = text.lastIndexOf(fence);
  return text.slice(line, end > line ? end : undefined);
}

/** From the first bracket to the last. */
function braced(text: string): string | undefined {
  const from = text.search(/[{[]/);
  return from === -1 ? undefined : text.slice(from, 1 + Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')));
}

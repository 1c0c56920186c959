/** A stack: what was thrown, the lines of the author, and those of what ran the author's code. */
interface StackParts {
  readonly head: string;
  readonly own: readonly string[];
  readonly runtime: readonly string[];
}

/** Where code stands that no author of an agent wrote. */
const foreign = ['node_modules/', '(node:', ' node:', '/services/', '<anonymous>', '(native)'];

/** Parts a stack as V8 writes it. Lines before the first place in code are its head. */
export function stackParts(stack: string): StackParts {
  const lines = stack.split('\n');
  const first = lines.findIndex(isPlace);
  if (first < 0) return { head: stack, own: [], runtime: [] };
  const places = lines.slice(first).filter((line) => line.trim() !== '');
  const isOwn = (line: string): boolean => !foreign.some((part) => line.includes(part));
  return {
    head: lines.slice(0, first).join('\n'),
    own: places.filter(isOwn),
    runtime: places.filter((line) => !isOwn(line)),
  };
}

const isPlace = (line: string): boolean => line.trimStart().startsWith('at ');

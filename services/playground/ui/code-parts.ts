import type { ElementContent, Root } from 'hast';
import type { CodePart } from './highlighter.ts';

/** The parts of a tree of code, in the order of its text. What stands in an element has the kind of the innermost one that names one. */
export function codeParts({ children }: Root): readonly CodePart[] {
  const parts: CodePart[] = [];
  const add = (nodes: readonly Root['children'][number][], kind: string | undefined): void => {
    for (const node of nodes) {
      if (node.type === 'text') parts.push([kind, node.value]);
      if (node.type === 'element') add(node.children, kindOf(node) ?? kind);
    }
  };
  add(children, undefined);
  return parts;
}

/** `hljs-title function_` is a title. */
function kindOf(node: Extract<ElementContent, { type: 'element' }>): string | undefined {
  const { className } = node.properties;
  const [first] = Array.isArray(className) ? className : [];
  return typeof first === 'string' ? first.replace('hljs-', '') : undefined;
}

import type { AST } from '@eslint-community/regexpp';
import { analyse } from 'scslre';

/**
 * Texts of about a given length that a regular expression may take too long for: what it repeats is repeated after what
 * it wants before that, and ends with what it does not want.
 */
export function attacksOn(regex: RegExp): (length: number) => readonly string[] {
  const { pattern } = analyse(regex).parsed;
  const before = new Set(['']);
  const pumps = new Set<string>();
  for (let variant = 0; variant < variants; variant += 1) {
    pumps.add(sampleOf(pattern, variant, regex.flags));
    for (const { prefix, repeated } of repetitionsIn(pattern, variant, regex.flags)) {
      before.add(prefix);
      pumps.add(repeated);
      pumps.add(prefix + repeated);
      if (prefix !== '') pumps.add(prefix);
    }
  }
  pumps.delete('');
  const shortest = [...before].sort((a, b) => a.length - b.length).slice(0, maxPrefixes);
  return (length) =>
    [...pumps].flatMap((pump) => {
      const body = pump.repeat(Math.ceil(length / pump.length));
      return shortest.flatMap((prefix) => ends.map((end) => `${prefix}${body}${end}`));
    });
}

const variants = 6;
const half = variants / 2;
const maxPrefixes = 3;
const ends = ['x', '\u0000!'];

interface Repetition {
  /** What stands before it. */
  readonly prefix: string;
  readonly repeated: string;
}

/** Every part that may be repeated without end. */
function repetitionsIn(node: AST.Node, variant: number, flags: string, prefix = ''): readonly Repetition[] {
  switch (node.type) {
    case 'Quantifier': {
      const inner = repetitionsIn(node.element, variant, flags, prefix);
      if (node.max < unbounded) return inner;
      return [{ prefix, repeated: sampleOf(node.element, variant, flags) }, ...inner];
    }
    case 'Alternative': {
      let so = prefix;
      return node.elements.flatMap((element) => {
        const found = repetitionsIn(element, variant, flags, so);
        so += sampleOf(element, variant, flags);
        return found;
      });
    }
    case 'Pattern':
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives.flatMap((each) => repetitionsIn(each, variant, flags, prefix));
    case 'Assertion':
      return 'alternatives' in node
        ? node.alternatives.flatMap((each) => repetitionsIn(each, variant, flags, prefix))
        : [];
    default:
      return [];
  }
}

const unbounded = 1000;

/** A text that a part matches; others for other variants, where there are any. */
function sampleOf(node: AST.Node, variant: number, flags: string): string {
  switch (node.type) {
    case 'Pattern':
    case 'Group':
    case 'CapturingGroup': {
      const chosen = node.alternatives[variant % node.alternatives.length];
      return chosen ? sampleOf(chosen, variant, flags) : '';
    }
    case 'Alternative':
      return node.elements.map((element) => sampleOf(element, variant, flags)).join('');
    case 'Quantifier':
      return sampleOf(node.element, variant, flags).repeat(Math.max(node.min, node.max === 0 ? 0 : 1));
    case 'Assertion':
      return node.kind === 'lookahead' && !node.negate ? sampleOf(node.alternatives[0] ?? node, variant, flags) : '';
    case 'Backreference':
      return 'a';
    case 'Character':
      return String.fromCodePoint(node.value);
    case 'CharacterSet':
    case 'CharacterClass': {
      const fitting = matching(node.raw, flags);
      // The second half of the variants begins with the signs, which patterns single out.
      const ordered = variant < half ? fitting : fitting.toReversed();
      return ordered[Math.floor((variant % half) / 2) % Math.max(1, ordered.length)] ?? '';
    }
    default:
      return '';
  }
}

const candidates = Array.from('a0 .-é中_zAZ9\t\n\u0301\u{1f600}~|&$#@?!^%*+=<>{}[]()/,:;\'\\"');

function matching(raw: string, flags: string): readonly string[] {
  const one = new RegExp(`^(?:${raw})$`, flags.replaceAll(/[gy]/g, ''));
  const found = candidates.filter((candidate) => one.test(candidate));
  if (found.length > 0) return found;
  const code = Array.from({ length: 0x3000 }, (_, place) => String.fromCharCode(place));
  return code.filter((candidate) => one.test(candidate)).slice(0, 1);
}

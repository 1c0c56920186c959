import { idFrom } from '@agent-workflow/kit/ids';

/** A name that every provider of models takes: OpenAI and Anthropic have the length and the characters, Google the first. */
const isModelName = (name: string): boolean => /^[A-Za-z_][\w-]{0,63}$/.test(name);

const maxLength = 64;

/**
 * A name for each name of a tool that every provider of models takes, and that no other has. A name that is one already stays. What is changed is changed
 * by the name alone, with a hash where it would be that of another, so that it is the same at every start and beside other tools.
 */
export function toModelNames(names: readonly string[]): ReadonlyMap<string, string> {
  const different = [...new Set(names)];
  const counts = new Map<string, number>();
  for (const name of different) counts.set(plain(name), (counts.get(plain(name)) ?? 0) + 1);
  return new Map(
    different.map((name) => {
      if (isModelName(name)) return [name, name];
      const short = plain(name);
      const isOwn = short.length <= maxLength && counts.get(short) === 1 && /[A-Za-z]/.test(short);
      return [name, isOwn ? short : withHash(short, name)];
    }),
  );
}

/** A name with a hash of a text behind it, within the length. */
export function withHash(name: string, text: string): string {
  const hash = idFrom(text, 'name of a tool').slice(-8);
  return `${name.slice(0, maxLength - hash.length - 1)}_${hash}`;
}

const plain = (name: string): string => {
  const latin = name.replaceAll(/[^\w-]/g, '_');
  return /^[A-Za-z_]/.test(latin) ? latin : `_${latin}`;
};

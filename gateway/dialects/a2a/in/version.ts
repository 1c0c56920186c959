import type { SentParameters } from '../../../http/dialect.ts';
import { a2aError } from '../replies/reasons.ts';

/** The versions that are understood: of a release, whatever its patch. */
const understood = /^1\.\d{1,4}(?:\.\d{1,4})?$/;

/** A card is read before its reader knows the version. */
const cards: ReadonlySet<string> = new Set(['a2aDefaultCard', 'a2aCard']);

/**
 * Refuses a caller of another version of the protocol, which a header names, or a query parameter. One that names none speaks 0.3, as the specification
 * has it.
 * @throws VersionNotSupported
 */
export function checkVersion({ header, query }: SentParameters, row: string): void {
  if (cards.has(row)) return;
  const version = header('a2a-version') ?? query('A2A-Version') ?? '';
  if (understood.test(version)) return;
  const named = version === '' ? 'no version, which means 0.3' : `version ${version.slice(0, 32)}`;
  throw a2aError('VERSION_NOT_SUPPORTED', `A2A-Version names ${named}: this agent speaks 1.0`);
}

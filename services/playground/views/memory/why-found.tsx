import { useMemo } from 'preact/hooks';
import { CalmText } from '../../ui/calm-text.tsx';
import { evidenceOf, ordinal, scoreText, type Ranking } from './evidence.ts';
import type { FoundMemories } from './found-memories.ts';
import type { MemoryPlace } from './memory-address.ts';
import { strategies } from './memory-shapes.ts';
import { metWords } from './met-words.ts';
import { ScoreBar } from './score-bar.tsx';

interface WhyFoundProps {
  readonly id: string;
  readonly content: string;
  readonly place: MemoryPlace;
  readonly found: FoundMemories;
}

/** Why a memory was found: how near it is in meaning, which words it has of the query, and what that makes together. */
export function WhyFound({ id, content, place, found }: WhyFoundProps) {
  const met = useMemo(() => metWords(content, found.sought), [content, found.sought]);
  return (
    <section aria-label="Why it was found">
      <h2>Why it was found</h2>
      <dl class="why-found">
        <Line name="Meaning" ranking={found.meaning} id={id} />
        <Line name="Words" ranking={found.words} id={id} />
        <Line name={togetherOf(place)} ranking={found.together} id={id} isSum />
      </dl>
      <p class="why-words">
        {met.length === 0 ? (
          'It has no word of the query.'
        ) : (
          <>
            Words met:{' '}
            {met.map((word) => (
              <mark key={word} dir="auto">
                <CalmText text={word} />
              </mark>
            ))}
          </>
        )}
      </p>
      {(found.words?.count ?? 0) > 0 && (
        <p class="why-measure">
          “Words” is 1.00 for the memory that meets the query’s words best, even where it misses some.
        </p>
      )}
    </section>
  );
}

/** What the score of the chosen strategy is called beside the other two. */
const togetherOf = ({ strategy }: MemoryPlace): string =>
  strategy === 'hybrid' ? 'Together' : strategies[strategy].title;

interface LineProps {
  readonly name: string;
  /** Absent while it is not known. */
  readonly ranking: Ranking | undefined;
  readonly id: string;
  readonly isSum?: boolean;
}

function Line({ name, ranking, id, isSum = false }: LineProps) {
  const evidence = evidenceOf(ranking, id);
  return (
    <div class={isSum ? 'why-sum' : undefined}>
      <dt>{name}</dt>
      <dd>
        {evidence ? <ScoreBar score={evidence.score} /> : <span class="score-bar" aria-hidden="true" />}
        <span>{placeText(ranking, evidence)}</span>
      </dd>
    </div>
  );
}

function placeText(ranking: Ranking | undefined, evidence: ReturnType<typeof evidenceOf>): string {
  if (!ranking) return '…';
  if (evidence?.rank !== undefined) return `${ordinal(evidence.rank)} of ${String(ranking.count)}`;
  if (evidence) return `not found by it, ${scoreText(evidence.score)}`;
  return ranking.count === 0 ? 'nothing is found by it' : `not among the first ${String(ranking.count)}`;
}

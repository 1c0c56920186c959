import type { Memory } from '@agent-workflow/client';
import { useMemo } from 'preact/hooks';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { evidenceOf, scoreText, type Ranking } from './evidence.ts';
import type { FoundMemories } from './found-memories.ts';
import { MarkedText } from './marked-text.tsx';
import { excerptOf, type SoughtWords } from './met-words.ts';
import { ScoreBar } from './score-bar.tsx';

interface MemoryRowProps {
  readonly memory: Memory;
  readonly href: string;
  readonly isOpen: boolean;
  /** What is marked in its text; nothing in a list that is no search. */
  readonly sought?: SoughtWords | undefined;
  /** Whether it has a score. */
  readonly isFound?: boolean;
  /** What the searches by themselves say of it. */
  readonly found?: Pick<FoundMemories, 'meaning' | 'words'> | undefined;
}

/** A memory in a list: its words, what it is, and of one that was found the scores. The whole of it is the link. */
export function MemoryRow({ memory, href, isOpen, sought, isFound = false, found }: MemoryRowProps) {
  const { id, content, score, memory_type: type, category, timestamp } = memory;
  const excerpt = useMemo(() => excerptOf(content, sought), [content, sought]);
  return (
    <a class="memo" href={href} data-row aria-current={isOpen ? 'true' : undefined}>
      <span class="memo-text" dir="auto">
        <MarkedText {...excerpt} />
      </span>
      <span class="memo-facts">
        {!isFound && `${type} · `}
        {category} · <RelativeTime at={timestamp} />
      </span>
      {isFound && (
        <span class="memo-score">
          {found && (
            <>
              <Part name="meaning" ranking={found.meaning} id={id} />
              <Part name="words" ranking={found.words} id={id} />
            </>
          )}
          <span class="unseen">score </span>
          <ScoreBar score={score} />
        </span>
      )}
    </a>
  );
}

interface PartProps {
  readonly name: string;
  readonly ranking: Ranking | undefined;
  readonly id: string;
}

/** What one search by itself says, where it says something. */
function Part({ name, ranking, id }: PartProps) {
  const evidence = evidenceOf(ranking, id);
  if (!evidence) return null;
  return (
    <span class="memo-part">
      {name} {scoreText(evidence.score)}
    </span>
  );
}

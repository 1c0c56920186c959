import type { Memory } from '@agent-workflow/client';
import { toHash } from '../../session/route.ts';
import { FoldedJson } from '../../ui/folded-json.tsx';
import { Plain } from '../../ui/plain.tsx';
import { Time } from '../../ui/time.tsx';

interface MemoryCardProps {
  readonly memory: Memory;
  /** Whether it was found by a query, and has a score. */
  readonly isFound: boolean;
  readonly onEdit: (memory: Memory) => void;
  readonly onForget: (memory: Memory) => void;
}

/** A memory as lists show it. */
export function MemoryCard({ memory, isFound, onEdit, onForget }: MemoryCardProps) {
  const { content, score, memory_type: type, category, metadata, thread_id: thread } = memory;
  const name = content.length > 60 ? `${content.slice(0, 60)} …` : content;
  return (
    <article class="memory-card" aria-label={name}>
      {isFound && (
        <p class="score">
          <meter min={0} max={1} value={score} aria-label="Score" />
          <span>{score.toFixed(3)}</span>
        </p>
      )}
      <div class="memory-content">
        <Plain text={content} />
      </div>
      {Object.keys(metadata).length > 0 && <FoldedJson label={`Metadata of ${name}`} value={metadata} />}
      <div class="memory-foot">
        <p class="hint small">
          {type} · {category} · <Time at={memory.timestamp} />
          {thread !== '' && (
            <>
              {' · '}
              <a href={toHash({ view: 'threads', id: thread })}>thread {thread}</a>
            </>
          )}
        </p>
        <div>
          <button type="button" aria-label={`Edit ${name}`} onClick={() => onEdit(memory)}>
            Edit
          </button>
          <button type="button" aria-label={`Forget ${name}`} onClick={() => onForget(memory)}>
            Forget
          </button>
        </div>
      </div>
    </article>
  );
}

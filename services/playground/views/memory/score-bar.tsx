import { scoreText } from './evidence.ts';

/** A score from 0 to 1 as a thin bar; the figure stands beside it, for those who see it and those who do not. */
export function ScoreBar({ score }: { readonly score: number }) {
  return (
    <>
      <span class="score-bar" aria-hidden="true">
        <span style={{ inlineSize: `${String(Math.round(Math.min(1, Math.max(0, score)) * 100))}%` }} />
      </span>
      <b>{scoreText(score)}</b>
    </>
  );
}

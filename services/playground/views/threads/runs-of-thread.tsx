import { useId } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { usePages } from '../../session/pages.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { Time } from '../../ui/time.tsx';

const pageSize = 20;

interface RunsOfThreadProps {
  readonly id: string;
  /** Another number reads the list again. */
  readonly turn: number;
}

/** The runs of a thread, the newest first. */
export function RunsOfThread({ id, turn }: RunsOfThreadProps) {
  const heading = useId();
  const several = useSeveralAgents().length > 0;
  const runs = usePages(
    async (cursor, signal) => {
      const page = await client.threads.runs(
        id,
        { limit: pageSize, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.runs, cursor: page.cursor };
    },
    [turn],
  );
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Runs</h2>
      <ul class="plain">
        {runs.state.value.items.map((run) => (
          <li key={run.run_id} class="line">
            <a href={toHash({ view: 'runs', id: run.run_id })}>
              <Time at={run['created_at'] as string} />
            </a>
            <span class={`status status-${run.status}`}>{run.status}</span>
            {(several || run.revision !== undefined) && (
              <span class="hint run-build">{[several && run.agent, run.revision].filter(Boolean).join(' ')}</span>
            )}
          </li>
        ))}
      </ul>
      <LoadMore pages={runs.state.value} thing="run" more={runs.more} again={runs.again} />
    </section>
  );
}

import { route, toHash } from '../../session/route.ts';
import { useTitle } from '../../ui/title.ts';
import { AllMemories } from './all-memories.tsx';
import { CompareSearches } from './compare-searches.tsx';

/** The memories of the reader: searches beside each other, and the list of all. */
export function MemoryView() {
  const isList = route.value.query['tab'] === 'all';
  useTitle(isList ? 'All memories' : 'Memory');
  return (
    <div class="memory">
      <div class="pane-head">
        <h1>Memory</h1>
        <nav class="memory-tabs" aria-label="Memory">
          <a href={toHash({ view: 'memory' })} aria-current={isList ? undefined : 'page'}>
            Search
          </a>
          <a href={toHash({ view: 'memory', query: { tab: 'all' } })} aria-current={isList ? 'page' : undefined}>
            All memories
          </a>
        </nav>
      </div>
      {isList ? <AllMemories /> : <CompareSearches />}
    </div>
  );
}

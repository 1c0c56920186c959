import { distanceMetrics, memoryTypes as allTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import test from 'ava';
import {
  comparedOf,
  furtherFilters,
  memorySelectionOf,
  readMemoryPlace,
  searchOf,
  selectionText,
  toForget,
  type MemoryPlace,
} from './memory-address.ts';
import { memoryTypes, metrics, strategies } from './memory-shapes.ts';

function placeOf(query: Readonly<Record<string, string>>): MemoryPlace {
  const read = readMemoryPlace(query);
  if ('faults' in read) throw new Error(JSON.stringify(read.faults));
  return read.value;
}

test('the lists of the page are those of the service', (t) => {
  t.deepEqual(Object.keys(memoryTypes).toSorted(), [...allTypes].toSorted());
  t.deepEqual(Object.keys(strategies).toSorted(), [...retrievalStrategies].toSorted());
  t.deepEqual(Object.keys(metrics), [...distanceMetrics]);
});

test('an address selects memories and says how they are searched for', (t) => {
  const query = { search: ' tea ', type: 'semantic', category: 'taste', thread: 'trip', filters: '{"year":2020}' };
  const asked = searchOf(placeOf({ ...query, by: 'relevance', metric: 'manhattan', limit: '3', least: '0.5' }));
  t.like(asked, {
    ...{ query: 'tea', memory_type: 'semantic', category: 'taste', limit: 3, score_threshold: 0.5 },
    ...{ filters: { year: 2020 }, config: { thread_id: 'trip' } },
    ...{ retrieval_strategy: 'relevance', distance_metric: 'manhattan' },
  });
  t.deepEqual(placeOf({}).selection, {});
  t.deepEqual(placeOf({ scope: 'own' }).selection, {});
  const inScope = searchOf(placeOf({ search: 'tea', scope: 'shared:handbook' }));
  t.deepEqual([inScope.scopes, 'scope' in inScope], [['shared:handbook'], false]);
  t.like(searchOf(placeOf({ search: 'tea' })), { retrieval_strategy: 'hybrid', limit: 50 });
  t.deepEqual(memorySelectionOf({ search: 'tea', span: 's3', type: '' }), { search: 'tea' });
});

test('everything that cannot be read is named, and nothing is searched', (t) => {
  const wrong = { limit: '0', least: '2', filters: '[1]', options: '{', type: 'x', by: 'y', metric: 'z' };
  const read = readMemoryPlace({ search: 'tea', ...wrong });
  t.deepEqual('faults' in read ? Object.keys(read.faults).toSorted() : [], Object.keys(wrong).toSorted());
});

test('a comparison has a column for each strategy by one metric, or for each metric by one strategy', (t) => {
  const byStrategy = comparedOf(placeOf({ search: 'tea', compare: 'strategies', metric: 'manhattan', limit: '500' }));
  t.deepEqual(
    byStrategy.map(({ place }) => searchOf(place).retrieval_strategy),
    ['hybrid', 'similarity', 'relevance', 'temporal', 'graph_traversal'],
  );
  for (const { place } of byStrategy) t.like(searchOf(place), { distance_metric: 'manhattan', limit: 100 });
  const byMetric = comparedOf(placeOf({ search: 'tea', compare: 'metrics', by: 'similarity' }));
  t.deepEqual(
    byMetric.map(({ query, place }) => [query['metric'], searchOf(place).retrieval_strategy]),
    distanceMetrics.map((metric) => [metric, 'similarity']),
  );
});

test('a selection without a condition forgets all, and only when it says so', (t) => {
  t.deepEqual(toForget({}), { options: { all: true } });
  const shared = placeOf({ scope: 'shared:handbook' }).selection;
  t.deepEqual(toForget(shared), { scope: 'shared:handbook', options: { all: true } });
  t.is(selectionText(shared), 'scope shared:handbook');
  const { selection } = placeOf({ type: 'semantic', category: 'a', thread: 't', filters: '{"year":{"$gte":2020}}' });
  t.deepEqual(toForget(selection), selection);
  t.is(selectionText(selection), 'type semantic, category a, thread t, metadata {"year":{"$gte":2020}}');
});

test('each filter that is seldom wanted has words, by which it is taken away', (t) => {
  t.deepEqual(furtherFilters({ search: 'tea', category: 'taste', least: '0.5' }), [
    { name: 'category', text: 'in taste' },
    { name: 'least', text: 'score from 0.5' },
  ]);
});

import fc from 'fast-check';
import { buildGraph, generatedSpec } from './generated-graphs.ts';

/** Graphs that are generated, the same ones in every process. */
export const [g0, g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11, g12, g13, g14, g15] = fc
  .sample(generatedSpec, { seed: 33, numRuns: 16 })
  .map(buildGraph);

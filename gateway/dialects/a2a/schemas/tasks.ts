import { Type } from '../../common/builders.ts';
import { HistoryLength, Id } from './common.ts';

export const GetTask = Type.Object({ tenant: Type.Optional(Id), historyLength: Type.Optional(HistoryLength) });

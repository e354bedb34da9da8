import type { NewEvent } from 'temporal-outbox/producer';
import type { DiaryImport } from '../domain/diaryImport';
import type { Film } from '../domain/film';
import type { Review } from '../domain/review';

export interface DiaryImports {
  find(id: string): Promise<DiaryImport | undefined>;
  /**
   * All of a file in one transaction: the import, its reviews, the films that are new, and the events.
   *
   * @param films each once, with the event of its discovery
   * @returns `known`: there is an import of this id; `taken`: a review has, or had, one of the ids. Nothing is written then
   */
  add(
    diaryImport: DiaryImport,
    reviews: readonly Review[],
    films: readonly { readonly film: Film; readonly discovered: NewEvent }[],
    events: readonly NewEvent[],
  ): Promise<'added' | 'known' | 'taken'>;
}

/** On the first instance: they log what they see. */
export const REVIEWERS = ['ada', 'bela', 'cleo', 'dario', 'edda', 'finn', 'gus', 'hana'] as const;

/** On the second instance: they follow reviewers of the first, some from the beginning, some when it has half a diary. */
export const READERS = ['iris', 'jon', 'kaya', 'leo'] as const;

export const FOLLOWED_EARLY: readonly (readonly [reader: string, reviewer: string])[] = [
  ['iris', 'ada'],
  ['iris', 'bela'],
  ['jon', 'bela'],
  ['jon', 'dario'],
  ['leo', 'ada'],
];

export const FOLLOWED_LATE: readonly (readonly [reader: string, reviewer: string])[] = [
  ['jon', 'cleo'],
  ['kaya', 'edda'],
  ['kaya', 'finn'],
  ['kaya', 'gus'],
  ['leo', 'hana'],
];

/** On the first instance, among themselves. */
export const LOCAL_FOLLOWS: readonly (readonly [follower: string, followee: string])[] = [
  ['ada', 'bela'],
  ['cleo', 'ada'],
  ['gus', 'hana'],
];

/** Ends a follow that was there from the beginning. */
export const UNFOLLOWS = ['leo', 'ada'] as const;
/** A reviewer who blocks a reader, whose follow ends by it. */
export const BLOCKS = ['dario', 'jon'] as const;
/** A reviewer of the first instance who follows a reader of the second, who logs a little too. */
export const FOLLOWS_BACK = ['ada', 'iris'] as const;
/** Goes on elsewhere, and tells the followers. */
export const MOVES = 'finn';
export const RENAMED = 'bela';

/** All that is logged was seen in it, and everybody asks for its summary. */
export const YEAR = 2024;

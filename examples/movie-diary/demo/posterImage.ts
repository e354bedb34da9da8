import { seeded } from './seeded';

const WIDTH = 300;
const HEIGHT = 450;
const SHAPES = 6;

/** A poster of a film, as SVG: shapes derived from its number, so each film has another one, the same every time. */
export function posterImage(number: number): string {
  const random = seeded(number);
  const within = (limit: number) => Math.round(random() * limit);
  const colour = (lightness: number) => `hsl(${within(359)} ${40 + within(50)}% ${lightness}%)`;
  const shape = () => {
    const fill = `fill="${colour(35 + within(40))}" opacity="0.8"`;
    const [x, y] = [within(WIDTH), within(HEIGHT)];
    return random() < 0.5
      ? `<circle cx="${x}" cy="${y}" r="${20 + within(110)}" ${fill}/>`
      : `<rect x="${x}" y="${y}" width="${30 + within(200)}" height="${30 + within(200)}" transform="rotate(${within(90)})" ${fill}/>`;
  };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${colour(20)}"/>`,
    ...Array.from({ length: SHAPES }, shape),
    // The number in bits: shapes alone could be alike to the pixel.
    ...Array.from({ length: 16 }, (_, bit) =>
      (number >> bit) & 1 ? `<rect x="${10 + bit * 17.5}" y="425" width="12" height="12" fill="#fff"/>` : '',
    ),
    '</svg>',
  ].join('');
}

"""English words and sentence forms for generated articles, all written for this purpose."""

from __future__ import annotations

NOUNS = """
council harbour bridge market library museum railway orchard valley river school hospital theatre
garden factory workshop station tower road tunnel ferry lighthouse archive festival orchestra
choir gallery mill farm forest meadow reservoir canal quarry vineyard bakery brewery dairy kitchen
laboratory observatory telescope satellite engine turbine battery cable pipeline antenna sensor
computer network server archive database program camera printer microscope magnet crystal polymer
alloy enzyme protein vaccine bacterium fossil glacier volcano earthquake storm drought flood
harvest wheat barley potato apple cherry honey butter cheese bread soup pepper salt sugar tea
coffee wine cider salmon herring oyster crab whale dolphin otter badger heron falcon sparrow
beetle butterfly spider lizard turtle horse sheep goat cattle puppy kitten stable saddle wagon
carriage bicycle tractor lorry tram airport runway cargo container crane anchor compass lantern
rope canvas timber granite marble brick cement plaster copper silver bronze iron steel glass
porcelain leather cotton linen wool silk velvet needle button jacket helmet glove boot ribbon
painting sculpture portrait sketch novel poem diary letter essay chapter chronicle manuscript
dictionary newspaper magazine broadcast interview lecture seminar exam scholarship diploma
teacher pupil student professor librarian curator conductor violinist pianist singer dancer actor
playwright poet novelist painter sculptor architect engineer plumber carpenter mason baker butcher
farmer shepherd fisherman sailor captain pilot driver mechanic surgeon nurse dentist pharmacist
lawyer judge jury witness verdict appeal contract licence permit tax budget loan mortgage pension
salary bonus invoice auction bargain discount shareholder investor insurer broker merchant tenant
landlord neighbour villager resident commuter tourist visitor volunteer veteran pensioner toddler
teenager athlete goalkeeper striker referee trainer stadium tournament league trophy medal sprint
marathon regatta relay penalty whistle championship mayor minister senator ambassador deputy
spokesman treaty summit election ballot campaign manifesto referendum committee inquiry debate
petition protest strike union charity donation grant fund survey census estimate forecast figure
sample trial experiment theory discovery patent prototype design blueprint drawing map atlas
timetable ticket passport luggage hotel hostel restaurant cafe terrace balcony chimney roof cellar
staircase corridor courtyard fountain statue monument chapel cathedral monastery castle fortress
rampart moat village suburb district province island peninsula coastline lagoon estuary marsh
plateau canyon desert prairie jungle thicket hedge fence gate lane footpath crossing junction
roundabout pavement lamp signal siren alarm extinguisher ambulance fire smoke ash dust fog frost
snow hail thunder rainbow sunrise twilight midnight season decade century anniversary ceremony
parade banquet picnic wedding birthday reunion holiday voyage expedition pilgrimage shipwreck
"""

VERBS = """
opened closed repaired painted bought sold measured inspected delayed praised criticised approved
rejected postponed cancelled extended shortened replaced restored rebuilt demolished planned
financed sponsored designed tested improved damaged flooded surrounded crossed followed guided
welcomed visited photographed recorded published translated edited printed collected donated
borrowed returned rented leased insured taxed audited counted estimated predicted observed studied
compared described explained questioned defended accused supported opposed protected threatened
rescued treated examined trained taught hired dismissed promoted replaced elected appointed
invited greeted honoured remembered forgot ignored noticed discovered invented patented copied
imported exported shipped delivered unloaded stored packed wrapped weighed cleaned polished
sharpened heated cooled dried watered planted harvested pruned fed sheltered tamed fenced
excavated drained dredged widened narrowed paved lit wired connected disconnected upgraded
programmed monitored filmed broadcast announced denied confirmed doubted admitted revealed
concealed searched found lost stole recovered returned shared divided united joined left entered
avoided reached circled climbed descended steered pulled pushed lifted lowered dropped caught
threw kicked blocked scored defeated outran challenged encouraged advised warned reminded
persuaded thanked paid refunded fined pardoned settled signed renewed
"""

ADJECTIVES = """
old new narrow wide quiet noisy early late northern southern eastern western local regional
national coastal rural urban wooden stone iron copper golden grey green blue red yellow white
black bright dim heavy light steep shallow deep frozen flooded dusty muddy rusty broken empty
crowded popular forgotten famous obscure modest grand tiny enormous costly cheap generous strict
gentle stubborn patient careful careless skilled retired young elderly foreign native wild tame
fresh stale sweet bitter sour salty smoky fragrant silent musical historic modern mediaeval
temporary permanent annual weekly daily public private joint rival independent official informal
experimental practical theoretical ambitious cautious reluctant eager unexpected ordinary peculiar
remarkable unfinished missing hidden visible distant nearby central outer inner upper lower second
third final original curious cheerful sombre sturdy fragile elegant plain striped hollow curved
"""

ADVERBS = """
quietly loudly slowly quickly carefully suddenly gradually reluctantly gladly openly secretly
briefly repeatedly rarely frequently partly entirely nearly hardly barely cheaply generously
politely firmly gently bravely wisely stubbornly patiently eagerly calmly nervously promptly
belatedly jointly separately officially privately unanimously narrowly steadily unexpectedly
"""

FIRST_NAMES = """
Ada Alden Amos Anselm Beatrix Berta Bram Celia Cedric Clara Conrad Dora Edgar Edith Elias Esme
Felix Flora Gideon Greta Hester Hugo Ida Ingram Ivor Jasper Judith Kester Lena Linus Lydia Magnus
Maude Milo Mina Nadia Nell Odette Olaf Otto Petra Philippa Quentin Ralph Rosa Rufus Selma Silas
Tamsin Theo Ulla Una Verity Viola Wanda Wilfred Xenia Yorick Zelda Zeno
"""

STARTS = """
ash bar bel bren cal car cran dal dun east elm far fen gar glen hal har hol ing kel king lang
lin lor mal mar mel mor nor oak pen quar rav red ros sal sel shel stan ston sut thorn tor ul var
wal wes whit win wood yar
"""
MIDDLES = ["", "", "", "a", "e", "en", "er", "i", "in", "ing", "o", "s"]
PLACE_ENDS = """
bourne bridge bury by combe dale den field ford gate ham haven hurst leigh ley mere mouth port
shaw sted stoke thorpe ton wick wold worth
"""
SURNAME_ENDS = """
bane berg brook croft den ditch end fall field grove land ler man mark ner ridge ser side son
stone tler wall ward well wright
"""
BODIES = """
Trust|Society|Institute|Board|Union|Guild|Agency|Company|Works|Club|Foundation|Office|Academy|
Cooperative|Chamber|Bureau
"""
TIMES = """
on Monday|on Tuesday|on Wednesday|on Thursday|on Friday|on Saturday|on Sunday|last week|
last month|this week|in spring|in summer|in autumn|in winter|before dawn|after dark|at noon|
in the evening|overnight|two years ago|a month ago|for a decade
"""
# N noun, V verb, A adjective, D adverb, P place, H person, O organisation, M number, T time.
# No run of fixed words is longer than three: any five words in a row hold some that were drawn.
CLAUSES = """
the A N V its N near P
H of P D V a A N
the O V M A N reports T
a N and two A N clubs V H
M visitors V this A N in P
the P N staff D V their A N
H V her N with a A N
this A N from P is to V H T
every N in the A N V P
O and P N owners V the A N
there is no N that V a A N T
some A N, H added, V the N of P
his A N V the N plans D
A N makers in P V the O T
H, who was a N, V M A N offers
both N and N are to V H near P
"""
LINKS = [
    "; ", ", and ", ", but ", ", while ", " because ", " although ", ", where ", " after ",
    ", so ", " before ",
]  # fmt: skip
OPENERS = [
    "", "", "", "", "T ", "In P ", "At the N ", "For a A N ", "Near P, ", "With M pounds ",
    "As H D said, ", "Within M days ",
]  # fmt: skip
TAILS = [
    "", "", "", "", ", H said", ", O said", " by M per cent", " for M pounds",
    ", according to H", " despite the N",
]  # fmt: skip
TITLES = """
A N V N near P
H V A N in P
O V M N after A N
N and N: H of P V A N
P V its A N as O D V N
"""
COMMENTS = """
I D saw that N in P, A as ever
my N in P V our A N T
H should have V this N T
your A N near P is what O V
"""

SITE_NAMES = """
Gazette|Herald|Post|Courier|Observer|Chronicle|Times|Record|Notes|Daily|Review|Weekly|Standard|
Dispatch|Journal|Echo
"""
SECTIONS = """
Home|News|Politics|Business|Money|Sport|Football|Culture|Books|Film|Music|Travel|Food|Health|
Science|Technology|Education|Weather|Opinion|Letters|Obituaries|Property|Motoring|Jobs|Puzzles|
Podcasts|Video|Archive|About us|Contact|Newsletters|Subscribe|Sign in|Photographs|Crossword|
Events|Local guide|Gardening|Parenting|History
"""
WIDGETS = """
Related stories|Most read|Editor's picks|You may also like|Latest headlines|From our archive|
Trending now|Readers recommend|More in this section|Do not miss
"""
ADVERTS = """
Save M per cent on every A N at O
Your A N shop in P: M offers T
Win one A N with O
Your A N, delivered to P T
"""
FOOTERS = """
© 2024 {site}. All rights reserved. Reproduction of any part of this site needs our consent
{site} is published by the O, P. Registered under number M
Terms of use, privacy policy, cookie settings, accessibility statement, advertise with {site}
{site} is not responsible for the content of external sites. The A N of P is a mark of the O
We use cookies to remember your choices on {site}, to count visits and to show you adverts
"""
ABOUT_FORM = "These figures are gathered by the {site} desk every morning and may be revised later"
FORM_TITLES = ["Prices at the N market", "N levels in P", "Results of the P league", "P timetable"]
BY, SOURCE, COMMENTS_HEADING, MORE = "By", "Source", "Comments", "Page"

"""The paper on multicasting a changing repository: figures 4 to 9 and tables 2 to 6 by simulation."""
